/// A range cut into blocks in a way that only its length decides, and never who is free: so that what is
/// combined block by block has the same bits on any number of workers.
@usableFromInline
struct Blocks: Sendable {
    @usableFromInline let range: Range<Int>
    @usableFromInline let size: Int
    @usableFromInline let count: Int

    /// More blocks than there will ever be workers for, and few enough to keep something for each.
    @inlinable
    init(_ range: Range<Int>) {
        let length = range.upperBound - range.lowerBound
        self.range = range
        size = length == 0 ? 1 : (length - 1) / 4096 + 1
        count = length == 0 ? 0 : (length - 1) / size + 1
    }

    @inlinable
    subscript(_ block: Int) -> Range<Int> {
        let start = range.lowerBound + block * size
        return start..<start + min(size, range.upperBound - start)
    }

    /// The results of the blocks `[first, last)`, combined as a balanced tree.
    @inlinable
    func tree<R>(_ first: Int, _ last: Int, _ leaf: (Range<Int>) -> R, _ combine: (R, R) -> R) -> R {
        if last - first == 1 { return leaf(self[first]) }
        let middle = first + (last - first) / 2
        let (left, right) = Parallel.joined {
            tree(first, middle, leaf, combine)
        } _: {
            tree(middle, last, leaf, combine)
        }
        return combine(left, right)
    }
}
