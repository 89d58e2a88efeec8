// Owns the counter from which threads take the numbers of one loop. `forEach`, `reduce`, `scan`, `min`, `max` and
// searches call it. It never handles errors and never outlives the loop.

public import CScheduler
public import Synchronization

/// Distributes the numbers from 0 below `count`: each thread repeatedly takes the next few numbers, until none is
/// left.
///
/// The caller takes numbers in its own function, where the optimiser inlines the closures of the caller into the
/// loop. In addition the caller forks one helper, which does the same but calls the closures. Each helper forks
/// another helper before it starts. So a loop without helpers is a plain loop, and helpers never slow it down: the
/// caller runs the numbers that no helper takes.
///
/// Forking half of the range would be slower. The optimiser does not inline a closure with captures into a closure
/// that captures it and leaves its view. Then that half would call the closure for every number, on whichever thread
/// it runs. ``Parallel/merging`` covers closures without captures.
///
/// Algorithm: like guided self-scheduling (Polychronopoulos, Kuck, IEEE ToC 1987), with part sizes chosen by time.
@usableFromInline
struct Share: ~Copyable {
    // The padding gives `next`, which all threads write, a cache line apart from the read-only fields and the stack.
    @usableFromInline let before = SIMD8<UInt64>()
    /// The next number to take. Up to 256 threads may each add one more part, of at most ``greatestPart``, beyond
    /// `count`; the sum still fits in a word.
    @usableFromInline let next = Atomic<UInt>(0)
    @usableFromInline let after = SIMD8<UInt64>()
    @usableFromInline let count: Int
    /// The minimum number of elements that a thread takes at once.
    @usableFromInline let grain: Int
    /// Whether the caller first works alone for half a time unit, since the whole loop may finish before a thief
    /// arrives. This holds for 256 or more numbers, and when the operation declares its numbers short. Fewer numbers
    /// may each be long, so then a helper is forked at once.
    @usableFromInline let beginsAlone: Bool

    @inlinable
    @inline(__always)
    init(_ count: Int, grain: Int? = nil, isShort: Bool = false) {
        if let grain, grain < 1 { Parallel.trapGrain(grain) }
        self.count = count
        beginsAlone = isShort || count >= 256
        self.grain = min(grain ?? 1, Share.greatestPart)
    }

    /// The maximum size of one part, so that sums of sizes cannot overflow.
    @inlinable
    @inline(__always)
    static var greatestPart: Int { 1 << 53 }

    /// Calls `body` with disjoint parts that together cover all numbers, and returns when all calls have returned.
    @inlinable
    @inline(__always)
    func work(_ body: (Range<Int>) -> Void) {
        work(body) { help(0, body) }
    }

    /// Forks `helper`, at once or after the caller has worked alone for half a time unit. The caller does not run an
    /// untaken `helper`, because it has then taken all numbers.
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

    /// Runs as a helper, after `others` earlier helpers. The chain of helpers ends at 255: a thread that cannot offer
    /// forks runs each fork at once, and would otherwise recurse without end.
    @inlinable
    func help(_ others: Int, _ body: (Range<Int>) -> Void) {
        // Relaxed: the distribution of numbers orders nothing; fork and join order the results.
        if next.load(ordering: .relaxed) >= UInt(count) { return }
        if others == 255 { return take(body) }
        offer(body) { help(others + 1, body) }
    }

    /// Forks `helper`, takes numbers, and joins. An untaken `helper` is dropped without running.
    @inlinable
    @inline(__always)
    func offer(_ body: (Range<Int>) -> Void, _ helper: () -> Void) {
        od_fork_closure_here()
        let slot = unsafe forkClosure(helper)
        take(body)
        if unsafe !od_fork_pop(slot) && takeBackClosure(helper) { od_join_end() }
    }

    /// Takes numbers until none is left.
    ///
    /// A part should last one to four time units, so that other threads wait only briefly at the end. It should also
    /// last at least 8× as long as the take itself. After that, a part has at most an eighth of the rest, so that all
    /// threads finish at about the same time.
    @inlinable
    @inline(__always)
    func take(_ body: (Range<Int>) -> Void) {
        var size = grain
        while true {
            let asked = od_loop_ticks()
            // Relaxed: the distribution of numbers orders nothing; fork and join order the results.
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
