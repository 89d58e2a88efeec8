internal import CScheduler
internal import Synchronization

/// One operation that may end early: its first error, who may stop it, and its progress.
///
/// Made by the operation's caller, shared by all its parts, and gone when the operation returns.
@usableFromInline
final class Effort<E: Error>: CurrentWork {
    private let isFailed = Atomic(false)
    /// A part was left out because the operation was cancelled.
    private let isCut = Atomic(false)
    private let problem = Locked<E?>(nil)
    private let token: CancellationToken?
    private let progress: Parallel.Progress?
    /// Whether cancellation ends the operation, or is only what its parts are told.
    private let endsWhenCancelled: Bool
    /// What the caller was doing: its cancellation is ours.
    private let outer: (any CurrentWork)?
    // The task that waits in the operation.
    private let task: TaskHandle?

    @usableFromInline
    init(token: CancellationToken? = nil, progress: Parallel.Progress? = nil, endsWhenCancelled: Bool = false) {
        self.token = token
        self.progress = progress
        self.endsWhenCancelled = endsWhenCancelled
        outer = CurrentWorkPlace.current
        task = outer == nil ? TaskHandle.current : nil
    }

    /// An operation as it is asked for. Where it may throw any error, cancellation ends it.
    @usableFromInline
    convenience init(_ asked: Parallel) {
        self.init(
            token: asked.token, progress: asked.progress,
            endsWhenCancelled: E.self == (any Error).self && (asked.token != nil || asked.isAwaited))
    }

    /// Whether the operation was cancelled from outside.
    @usableFromInline
    var isCancelled: Bool {
        token?.isCancelled ?? false || outer?.isRequested ?? false || task?.isCancelled ?? false
    }

    var isRequested: Bool {
        // Relaxed: it only says that parts are not needed any more; the error itself is behind a lock.
        isFailed.load(ordering: .relaxed) || isCancelled
    }

    /// Whether parts that have not started need not.
    @usableFromInline
    var isOver: Bool {
        // Relaxed: as in `isRequested`.
        if isFailed.load(ordering: .relaxed) || isCut.load(ordering: .relaxed) { return true }
        guard endsWhenCancelled, isCancelled else { return false }
        isCut.store(true, ordering: .relaxed) // Relaxed: `end` comes after the part's join.
        return true
    }

    /// The operation ends with `error`, unless another came first.
    @usableFromInline
    func fail(_ error: E) {
        problem.withLock { problem in
            if problem == nil { problem = error }
        }
        isFailed.store(true, ordering: .relaxed) // Relaxed: as in `isRequested`.
    }

    /// Runs a part of `count` units, unless the operation is over.
    @usableFromInline
    func part(_ count: Int, _ body: () throws(E) -> Void) {
        if isOver { return }
        do throws(E) {
            try whileCurrent(body)
            progress?.add(count)
        } catch {
            fail(error)
        }
    }

    /// Runs a part that has a result: nil if the operation is over.
    @usableFromInline
    func result<R>(_ count: Int, _ body: () throws(E) -> R) -> R? {
        if isOver { return nil }
        do throws(E) {
            let result = try whileCurrent(body)
            progress?.add(count)
            return result
        } catch {
            fail(error)
            return nil
        }
    }

    /// So many units are done by half, or are run through because the operation is over: then they do not count.
    @usableFromInline
    func isDone(halves: Int) {
        guard let progress, !isOver else { return }
        progress.add(halves: halves)
    }

    /// Runs what its parts are forked and joined in.
    @usableFromInline
    func whole<R>(_ body: () -> R) -> R {
        whileCurrent(body)
    }

    /// Throws the first error, or `CancellationError` where the operation ends early, after all parts have ended: what
    /// left a part out is not asked again whether it still says so. Cancelled is also what was done whole, where that came
    /// during its last part.
    @usableFromInline
    func end() throws(E) {
        if let error = problem.withLock({ $0 }) { throw error }
        // Relaxed: as in `isOver`.
        guard endsWhenCancelled, isCut.load(ordering: .relaxed) || isCancelled else { return }
        if let error = CancellationError() as? E { throw error }
    }
}

extension Parallel {
    /// How far a long operation has come.
    ///
    ///     let progress = Parallel.Progress()
    ///     Parallel(progress: progress).forEach(0..<frames.count) { render(frames[$0]) }
    ///     // meanwhile, on another thread
    ///     print(progress.completed, "of", frames.count)
    ///
    /// - Threading: Safe from any thread.
    /// - Cost: One addition for each chunk of some microseconds.
    public final class Progress: Sendable {
        private let halves = Atomic(0)

        /// Counts from 0.
        ///
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public init() {}

        /// How many iterations, or elements, are done. It never falls.
        public var completed: Int {
            halves.load(ordering: .relaxed) / 2 // Relaxed: a number to look at, which orders nothing.
        }

        @usableFromInline
        func add(_ count: Int) {
            add(halves: 2 * count)
        }

        func add(halves count: Int) {
            halves.add(count, ordering: .relaxed) // Relaxed: as above.
        }
    }

    /// Runs `body` with the calling thread as an external thread of `scheduler`, unless it is one of its workers; where it
    /// is, for nil.
    @usableFromInline
    static func asExternalThread<R, E: Error>(of scheduler: Scheduler?, _ body: () throws(E) -> R) throws(E) -> R {
        guard let scheduler else { return try body() }
        var scope = unsafe od_fork_scope()
        unsafe od_forks_enter(scheduler.handle, &scope)
        defer {
            unsafe od_forks_leave(&scope)
            withExtendedLifetime(scheduler) {}
        }
        return try body()
    }
}
