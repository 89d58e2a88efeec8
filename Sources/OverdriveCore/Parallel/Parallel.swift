// Owns the settings of parallel operations and the helpers that all operations share. Programs create `Parallel`
// values; the other files of this folder add the operations. Nothing here outlives the call of an operation.

/// Divides work among the workers and returns when all of the work is done.
///
///     let norms = Parallel.map(vectors) { $0.norm() }
///     let largest = Parallel(on: renderers, progress: progress).max(norms)
///
/// The type itself has a short form of each operation. The value has the operations with settings: scheduler, size of
/// parts, placement, token and progress. A value may be made for one call or kept; `Parallel()` has the defaults and costs
/// nothing.
///
/// Every operation accepts throwing and non-throwing closures. The first error wins. Parts that have not started do
/// not start, and ``Cancellation/isRequested`` becomes true in running parts. When these have finished, the operation
/// throws the error with its static type. (A search sends no such signal: it may still find an element before the
/// error.)
///
/// - Threading: Any thread. During the call, a thread that is not a worker counts as one, even while it blocks in a
///   closure without ``blocking(_:)``. A task calls operations through ``run(_:)`` and suspends.
///
/// ## Topics
///
/// ### Settings
/// - ``init(on:grain:placement:token:progress:)``
/// - ``run(_:)``
/// - ``run(mutating:_:)``
/// - ``Progress``
/// - ``Placement``
///
/// ### Loops
/// - ``forEach(mutating:_:)-swift.method``
/// - ``forEachChunk(_:_:)-swift.method``
/// - ``forEachChunk(_:scratch:_:)-swift.method``
/// - ``chunks(of:size:_:)-swift.method``
/// - ``map(_:_:)-swift.method``
/// - ``map(_:_:)-swift.type.method``
/// - ``scan(_:_:_:)-swift.method``
///
/// ### Asynchronous loops
/// - ``map(_:atMost:isolation:_:)``
/// - ``forEach(_:atMost:isolation:_:)``
///
/// ### Collecting
/// - ``reduce(_:into:_:combine:)-swift.method``
/// - ``filter(_:_:)-swift.method``
/// - ``count(_:where:)-swift.method``
/// - ``compactMap(_:_:)-swift.method``
/// - ``flatMap(_:_:)-swift.method``
/// - ``grouping(_:by:)-swift.method``
///
/// ### Searching
/// - ``first(_:where:)-swift.method``
/// - ``firstIndex(_:where:)-swift.method``
/// - ``firstIndex(_:of:)-swift.method``
/// - ``contains(_:_:)-swift.method``
/// - ``contains(_:where:)-swift.method``
/// - ``allSatisfy(_:_:)-swift.method``
/// - ``min(_:)-swift.method``
/// - ``max(_:)-swift.method``
/// - ``minmax(_:)-swift.method``
///
/// ### Sorting
/// - ``sort(_:)-swift.method``
/// - ``sorted(_:)-swift.method``
/// - ``stableSort(_:)-swift.method``
/// - ``stableSorted(_:)-swift.method``
///
/// ### Divide and conquer
/// - ``join(_:_:)-swift.method``
/// - ``join(splitting:at:_:_:)``
/// - ``join(count:_:_:_:)-swift.method``
/// - ``invoke(_:_:_:)-swift.method``
/// - ``invoke(count:_:)-swift.method``
/// - ``scope(_:)-swift.method``
/// - ``scope(_:)-swift.type.method``
/// - ``scope(throwing:_:)-swift.method``
/// - ``Scope``
/// - ``ThrowingScope``
///
/// ### Memory
/// - ``Elements``
@frozen
public struct Parallel: Sendable {
    @usableFromInline let scheduler: Scheduler?
    @usableFromInline let grain: Int?
    @usableFromInline let placement: Placement
    @usableFromInline let token: CancellationToken?
    @usableFromInline let progress: Progress?
    /// True if a task awaits the operations; then the task's cancellation ends them, as a token does.
    @usableFromInline let isAwaited: Bool

    /// Creates settings for operations.
    ///
    ///     let careful = Parallel(grain: 64, token: token, progress: progress)
    ///     let frames = try careful.map(0..<count) { try decode($0) }
    ///
    /// - Parameters:
    ///   - scheduler: The scheduler whose workers help. With nil, a worker uses its own scheduler; other threads and
    ///     ``run(_:)`` use ``Scheduler/shared``. Nested operations in the closures stay on this scheduler.
    ///   - grain: The minimum number of elements in a part, 1 or more. With nil, a part has as many elements as take
    ///     some microseconds, or 1,024 plain values that are only combined. Forks and sorts ignore the grain.
    ///   - placement: The assignment of the parts of a loop to NUMA nodes. Forks, sorts, `min`, `max` and `reduce` without
    ///     `into` ignore it.
    ///   - token: Ends operations early with `CancellationError`, as the cancellation of the calling work or task does.
    ///     This applies only to operations whose closures may throw any error. For a closure that does not throw, write
    ///     `{ x throws in … }`. Other operations run to their end, as do joins of two, `invoke` of three and a scope
    ///     without `throwing`; their closures see ``Cancellation/isRequested``. An operation in its last part throws
    ///     the error, too.
    ///   - progress: Counts the finished elements or branches. A search counts all elements, visited or not. Joins of
    ///     two, `invoke` of three and a scope without `throwing` count nothing.
    /// - Ordering: See each operation.
    /// - Threading: Any thread; threads may share a value.
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

    /// True if no setting except the grain is set. Operations that cannot throw then run without an ``Effort``.
    @inlinable
    @inline(__always)
    var isPlain: Bool {
        guard case .anywhere = placement else { return false }
        return scheduler == nil && token == nil && progress == nil
    }

    /// Traps after a closure of error type `Never` has thrown, which is impossible in checked code.
    @usableFromInline
    static func trapThrown() -> Never {
        trap("Parallel: a closure threw an error of type Never")
    }
}

// The slow path of operations with settings or errors: an ``Effort`` runs each part.
extension Parallel {
    /// Calls `body` with disjoint parts that together cover the range.
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

    /// Returns the results of `body` for all blocks, in block order.
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

    /// Returns the results of all blocks, with nil for each block that was skipped after an error or cancellation.
    ///
    /// - Parameter isCounted: Whether the finished elements count as progress.
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

    /// Runs forking code on the chosen scheduler, with the token visible to its closures.
    @usableFromInline
    func forking<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        if token == nil { return try Parallel.asExternalThread(of: scheduler, body) }
        return try Effort<Never>(self).whileCurrent { () throws(E) in try Parallel.asExternalThread(of: scheduler, body) }
    }

    /// True if forks need no scheduler change and no token, so that the direct path suffices.
    @inlinable
    @inline(__always)
    var isHere: Bool { scheduler == nil && token == nil }

    /// Calls `body` with the elements at the offsets `part` of a collection.
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
