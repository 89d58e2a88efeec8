/// Work that is divided among the workers and done when the call returns.
///
///     let norms = Parallel.map(vectors) { $0.norm() }
///     let largest = Parallel(on: renderers, progress: progress).max(norms)
///
/// The type itself has short forms of the most frequent operations: `join`, `scope`, `forEach`, `map` and `reduce`.
/// The value has all operations, with settings: scheduler, size of parts, placement, token and progress. A value may
/// be made for one call or kept; `Parallel()` has the defaults and costs nothing.
///
/// Every operation takes throwing and non-throwing closures. The first error wins. Parts that have not begun do not
/// begin, ``Cancellation/isRequested`` turns true in running ones, and when these have finished the error is thrown
/// with its type. (A search does not signal: it may still find elements before an error.)
///
/// - Threading: Any thread. A thread that is not a worker counts as one during the call, also while it blocks in a
///   closure without ``blocking(_:)``. A task calls operations through ``run(_:)``, and suspends.
///
/// ## Topics
///
/// ### How it is done
/// - ``init(on:grain:placement:token:progress:)``
/// - ``run(_:)``
/// - ``run(mutating:_:)``
/// - ``Progress``
/// - ``Placement``
///
/// ### Loops
/// - ``forEach(mutating:_:)``
/// - ``forEachChunk(_:_:)``
/// - ``forEachChunk(_:scratch:_:)``
/// - ``chunks(of:size:_:)``
/// - ``map(_:_:)-swift.method``
/// - ``map(_:_:)-swift.type.method``
/// - ``scan(_:_:_:)``
///
/// ### Collecting
/// - ``reduce(_:into:_:combine:)``
/// - ``filter(_:_:)``
/// - ``compactMap(_:_:)``
/// - ``flatMap(_:_:)``
/// - ``grouping(_:by:)``
///
/// ### Searching
/// - ``first(_:where:)``
/// - ``contains(_:_:)``
/// - ``contains(_:where:)``
/// - ``allSatisfy(_:_:)``
/// - ``min(_:)``
/// - ``min(_:by:)``
/// - ``max(_:)``
/// - ``max(_:by:)``
///
/// ### Sorting
/// - ``sort(_:)``
/// - ``sorted(_:)``
/// - ``sorted(_:by:)``
/// - ``stableSort(_:)``
/// - ``stableSort(_:by:)``
///
/// ### Divide and conquer
/// - ``join(_:_:)-swift.method``
/// - ``join(splitting:at:_:_:)``
/// - ``join(count:_:_:_:)-swift.method``
/// - ``invoke(_:_:_:)``
/// - ``invoke(count:_:)``
/// - ``scope(_:)-swift.method``
/// - ``scope(_:)-swift.type.method``
/// - ``scope(throwing:_:)``
/// - ``Scope``
/// - ``ThrowingScope``
@frozen
public struct Parallel: Sendable {
    @usableFromInline let scheduler: Scheduler?
    @usableFromInline let grain: Int?
    @usableFromInline let placement: Placement
    @usableFromInline let token: CancellationToken?
    @usableFromInline let progress: Progress?
    /// A task waits for the operations: its cancellation ends them as a token's does.
    @usableFromInline let isAwaited: Bool

    /// Says how operations are to be done.
    ///
    ///     let careful = Parallel(grain: 64, token: token, progress: progress)
    ///     let frames = try careful.map(0..<count) { try decode($0) }
    ///
    /// - Parameters:
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none, and for
    ///     ``run(_:)`` always. Operations inside of the closures stay there.
    ///   - grain: The least number of neighbours in a part, 1 or more. nil takes as many as need some microseconds,
    ///     or 1,024 plain values that are only combined. Forks and sorts have no grain.
    ///   - placement: Whether parts of a loop belong to NUMA nodes. Forks and sorts have no such parts, nor do `min`, `max`
    ///     and `reduce` without `into`.
    ///   - token: Ends operations early with `CancellationError`, as does the cancellation of the calling work or
    ///     task. This applies only to operations whose closures may throw any error; write `{ x throws in … }` for
    ///     one that does not throw. Other operations run to their end, as do joins of two, `invoke` of three and a
    ///     scope without `throwing`; their closures see ``Cancellation/isRequested``. An operation in its last part
    ///     throws the error, too.
    ///   - progress: Counts the elements, or branches, that are done; of a search all, whether looked at or not. Joins of
    ///     two, `invoke` of three and a scope without `throwing` count nothing.
    /// - Ordering: Each operation says its own.
    /// - Threading: Any thread; a value may be shared by threads.
    /// - Cost: None.
    @inlinable
    @inline(__always)
    public init(
        on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken? = nil, progress: Progress? = nil
    ) {
        self.init(
            scheduler: scheduler, grain: grain, placement: placement, token: token, progress: progress, isAwaited: false)
    }

    @inlinable
    @inline(__always)
    init(
        scheduler: Scheduler?, grain: Int?, placement: Placement, token: CancellationToken?, progress: Progress?,
        isAwaited: Bool
    ) {
        self.scheduler = scheduler
        self.grain = grain
        self.placement = placement
        self.token = token
        self.progress = progress
        self.isAwaited = isAwaited
    }

    /// Nothing is asked but a grain: what cannot throw then needs nobody to look after it.
    @inlinable
    @inline(__always)
    var isPlain: Bool {
        guard case .anywhere = placement else { return false }
        return scheduler == nil && token == nil && progress == nil
    }

    /// What comes after a call that cannot throw has thrown.
    @usableFromInline
    static func trapThrown() -> Never {
        trap("Parallel: a closure threw an error of type Never")
    }
}

// What operations are made of where there is more to do than the work: each part is run by an effort.
extension Parallel {
    /// Calls `body` for parts of a range that together are all of it.
    @inlinable
    func parts<E: Error>(of range: Range<Int>, _ body: (Range<Int>) throws(E) -> Void) throws(E) {
        _ = Parallel.length(of: range)
        let effort = Effort<E>(self)
        Parallel.asExternalThread(of: scheduler) {
            Loop(grain: grain).run(range, placement) { part in
                effort.part(part.count) { () throws(E) in try body(part) }
            }
        }
        try effort.end()
    }

    /// What `body` returns for each block, in their order.
    @inlinable
    @inline(__always)
    func values<T, E: Error>(of blocks: Blocks, _ body: (Range<Int>) throws(E) -> T) throws(E) -> [T] {
        if E.self == Never.self && isPlain {
            return blocks.values { block in
                do throws(E) { return try body(block) } catch { Parallel.trapThrown() }
            }
        }
        let effort = Effort<E>(self)
        let values = values(of: blocks, effort, body)
        try effort.end()
        return values.compactMap { $0 }
    }

    /// Nil for blocks that were left out.
    ///
    /// - Parameter isCounted: Whether the elements are done by it.
    @inlinable
    func values<T, E: Error>(
        of blocks: Blocks, _ effort: Effort<E>, isCounted: Bool = true, _ body: (Range<Int>) throws(E) -> T
    ) -> [T?] {
        unsafe Array(unsafeUninitializedCapacity: blocks.count) { places, written in
            nonisolated(unsafe) let places = unsafe places
            Parallel.asExternalThread(of: scheduler) {
                Loop(grain: nil).run(0..<blocks.count, placement) { some in
                    for block in some {
                        let value = effort.result(isCounted ? blocks[block].count : 0) { () throws(E) in
                            try body(blocks[block])
                        }
                        unsafe places.initializeElement(at: block, to: value)
                    }
                }
            }
            written = blocks.count
        }
    }

    /// Runs what forks, on the scheduler, told of the token.
    @usableFromInline
    func forking<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        if token == nil { return try Parallel.asExternalThread(of: scheduler, body) }
        return try Effort<Never>(self).whileCurrent { () throws(E) in try Parallel.asExternalThread(of: scheduler, body) }
    }

    /// Forks are called at once, where there is nothing to be told.
    @inlinable
    @inline(__always)
    var isHere: Bool { scheduler == nil && token == nil }

    /// Calls `body` for the elements of a part of a collection.
    @inlinable
    @inline(__always)
    static func visit<C: RandomAccessCollection, E: Error>(
        _ elements: C, _ part: Range<Int>, _ body: (C.Element) throws(E) -> Void
    ) throws(E) {
        var index = elements.index(elements.startIndex, offsetBy: part.lowerBound)
        for _ in part {
            try body(elements[index])
            elements.formIndex(after: &index)
        }
    }
}
