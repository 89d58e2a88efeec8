public import CScheduler
public import Synchronization

/// Numbers from 0 that several threads share: each takes the next few, until all are taken.
///
/// The caller takes numbers in its own function, where the optimiser merges the caller's closures into the loop.
/// Beside that it offers one fork, a helper, which does the same by calling them; a helper offers another helper
/// before it begins. So a loop that nobody helps with is a plain loop, and one that somebody helps with is never
/// slower for it: what a helper does not take, the caller does at its own speed. (Were half of the range forked
/// instead, that half would be called number by number wherever it runs: the optimiser merges no closure that has
/// captures into one that captures it and goes out of its sight. Of others see ``Parallel/merging``.)
///
/// Like guided self-scheduling (Polychronopoulos, Kuck, IEEE ToC 1987), with sizes by time.
@usableFromInline
struct Share: ~Copyable {
    // What everybody writes has a cache line of its own: beside it, in the caller's frame, stands what each call reads.
    @usableFromInline let before = SIMD8<UInt64>()
    /// What is taken next. Each of 256 threads may take once more than there is, and at most ``greatestPart``:
    /// the sum is a number.
    @usableFromInline let next = Atomic<UInt>(0)
    @usableFromInline let after = SIMD8<UInt64>()
    @usableFromInline let count: Int
    /// So many at least are taken at once.
    @usableFromInline let grain: Int
    /// Whether all may be over before a thief comes: of few numbers each may be long, unless the caller knows better. (A
    /// number may be a block, of up to a 1,024th of all: so much is the first of many at most.)
    @usableFromInline let beginsAlone: Bool

    @inlinable
    @inline(__always)
    init(_ count: Int, grain: Int? = nil, isShort: Bool = false) {
        if let grain, grain < 1 { Parallel.trapGrain(grain) }
        self.count = count
        beginsAlone = isShort || count >= 256
        self.grain = min(grain ?? 1, Share.greatestPart)
    }

    /// No more is taken at once, so that sums of sizes are numbers.
    @inlinable
    @inline(__always)
    static var greatestPart: Int { 1 << 53 }

    /// Calls `body` for parts that together are all numbers, and returns when all calls have.
    @inlinable
    @inline(__always)
    func work(_ body: (Range<Int>) -> Void) {
        work(body) { help(0, body) }
    }

    /// `helper` is forked, and not missed where nobody has taken it: at once, or when some numbers have taken half a
    /// unit of time.
    @inlinable
    @inline(__always)
    func work(_ body: (Range<Int>) -> Void, _ helper: () -> Void) {
        if beginsAlone {
            let began = od_loop_ticks()
            var (start, size) = (0, grain)
            while od_loop_ticks() &- began < od_loop_unit() / 2 {
                let left = count - start
                body(start..<start + min(size, left))
                if left <= size { return }
                start += size
                size = max(grain, min(2 * size, max(128, left / 8), Share.greatestPart))
            }
            next.store(UInt(start), ordering: .relaxed)  // Relaxed: the fork below orders it.
        }
        offer(body, helper)
    }

    /// What the helper does that so many others came before. (A thread that can offer nothing to anybody runs what
    /// it forks at once: therefore there is a last one.)
    @inlinable
    func help(_ others: Int, _ body: (Range<Int>) -> Void) {
        // Relaxed: who takes which numbers orders nothing; fork and join order what is done with them.
        if next.load(ordering: .relaxed) >= UInt(count) { return }
        if others == 255 { return take(body) }
        offer(body) { help(others + 1, body) }
    }

    /// `helper` is forked, and not missed where nobody has taken it.
    @inlinable
    @inline(__always)
    func offer(_ body: (Range<Int>) -> Void, _ helper: () -> Void) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(helper)
        take(body)
        if unsafe !od_fork_pop(slot) && takeBackClosure(helper) { od_join_end() }
    }

    /// A part is to take between one and four units of time, so that nobody is waited for long, and eight times as
    /// long as taking it at least; where it does, no more than an eighth of what is left, so that all end together.
    @inlinable
    @inline(__always)
    func take(_ body: (Range<Int>) -> Void) {
        var size = grain
        while true {
            let asked = od_loop_ticks()
            // Relaxed: as above.
            let taken = next.add(UInt(size), ordering: .relaxed).oldValue
            let began = od_loop_ticks()
            if taken >= UInt(count) { return }
            let start = Int(taken)
            let left = count - start
            body(start..<start + min(size, left))
            if left <= size { return }
            let (took, taking) = (od_loop_ticks() &- began, began &- asked)
            if took < od_loop_unit() || took < 8 &* taking {
                size = min(2 * size, Share.greatestPart)
            } else {
                size = max(grain, min(took > 4 &* od_loop_unit() ? size / 2 : size, left / 8))
            }
        }
    }
}
