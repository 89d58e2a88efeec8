/// The chess board as the public suite *runtime-benchmarks* has it: an array that each branch captures by value.
public typealias ArrayBoard = InlineArray<14, Int8>

extension Shapes {
    /// Placements of `n` queens, at most 14. Each safe column of `row` is a branch.
    @inlinable
    public static func queensInArray(_ row: Int, _ n: Int, _ board: ArrayBoard) -> UInt64 {
        if row == n { return 1 }
        // The safe columns, as a list of half-bytes. Reading through a span keeps one copy of the board in memory.
        var safe = 0
        var columns: UInt64 = 0
        let rows = board.span
        for column in 0..<n where isSafe(column, row, rows) {
            columns |= UInt64(column) &<< UInt64(4 &* safe)
            safe &+= 1
        }
        let list = columns
        return S.sum(safe) { index in
            var next = board
            next[unchecked: row] = Int8(truncatingIfNeeded: list &>> UInt64(4 &* index) & 15)
            return queensInArray(row + 1, n, next)
        }
    }

    @inlinable
    @inline(__always)
    static func isSafe(_ column: Int, _ row: Int, _ rows: Span<Int8>) -> Bool {
        let column = Int8(truncatingIfNeeded: column)
        var distance = Int8(truncatingIfNeeded: row)
        for above in 0..<row {
            let queen = rows[unchecked: above]
            if queen == column || queen == column &- distance || queen == column &+ distance { return false }
            distance &-= 1
        }
        return true
    }
}
