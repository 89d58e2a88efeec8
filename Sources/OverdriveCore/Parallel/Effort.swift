// Owns the shared state of one parallel operation: first error, cancellation, progress. Operations with settings or
// throwing closures create one `Effort`; their parts report to it. It never schedules work.

internal import CScheduler
internal import Synchronization

/// The state of one parallel operation: its first error, its cancellation sources and its progress.
///
/// The caller of the operation creates the effort, all parts share it, and it is released when the operation returns.
@usableFromInline
final class Effort<E: Error>: CurrentWork {
    private let isFailed = Atomic(false)
    /// A part was skipped because the operation was cancelled.
    private let isCut = Atomic(false)
    private let problem = Locked<E?>(nil)
    private let token: CancellationToken?
    private let progress: Parallel.Progress?
    /// True if cancellation ends the operation; otherwise the running parts only see the request.
    private let endsWhenCancelled: Bool
    /// The work in which the caller runs. Its cancellation also cancels this operation.
    private let outer: (any CurrentWork)?
    // The Swift task that waits for the operation, if the caller has no current work.
    private let task: TaskHandle?

    @usableFromInline
    init(token: CancellationToken? = nil, progress: Parallel.Progress? = nil, endsWhenCancelled: Bool = false) {
        self.token = token
        self.progress = progress
        self.endsWhenCancelled = endsWhenCancelled
        outer = CurrentWorkPlace.current
        task = outer == nil ? TaskHandle.current : nil
    }

    /// Creates the effort for the given settings. If `E` is `any Error`, cancellation ends the operation.
    @usableFromInline
    convenience init(_ asked: Parallel) {
        self.init(
            token: asked.token, progress: asked.progress,
            endsWhenCancelled: E.self == (any Error).self && (asked.token != nil || asked.isAwaited))
    }

    /// Whether the token, the outer work or the task was cancelled.
    @usableFromInline
    var isCancelled: Bool {
        token?.isCancelled ?? false || outer?.isRequested ?? false || task?.isCancelled ?? false
    }

    var isRequested: Bool {
        // Relaxed: the flag only allows parts to stop early; the error itself is protected by a lock.
        isFailed.load(ordering: .relaxed) || isCancelled
    }

    /// Whether parts that have not started must be skipped.
    @usableFromInline
    var isOver: Bool {
        // Relaxed: as in `isRequested`.
        if isFailed.load(ordering: .relaxed) || isCut.load(ordering: .relaxed) { return true }
        guard endsWhenCancelled, isCancelled else { return false }
        isCut.store(true, ordering: .relaxed) // Relaxed: `end` reads it after the join of this part.
        return true
    }

    /// Records the error of the operation, unless an earlier error is recorded.
    @usableFromInline
    func fail(_ error: E) {
        problem.withLock { problem in
            if problem == nil { problem = error }
        }
        isFailed.store(true, ordering: .relaxed) // Relaxed: as in `isRequested`.
    }

    /// Runs a part of `count` elements, unless the operation has already ended.
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

    /// Runs a part with a result. Returns nil if the operation has ended or the part throws.
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

    /// Adds progress, in half elements. After an early end it adds nothing, because the sort then only runs to its end.
    @usableFromInline
    func isDone(halves: Int) {
        guard let progress, !isOver else { return }
        progress.add(halves: halves)
    }

    /// Runs the code that forks and joins all parts, with this effort as the current work.
    @usableFromInline
    func whole<R>(_ body: () -> R) -> R {
        whileCurrent(body)
    }

    /// Throws the first error, or `CancellationError` if the operation was cancelled. Call after the join of all
    /// parts. A cancellation during the last part also throws, although all elements are done. Skipped parts are remembered
    /// in `isCut`, since a cancellation source may have changed its answer.
    @usableFromInline
    func end() throws(E) {
        if let error = problem.withLock({ $0 }) { throw error }
        // Relaxed: as in `isOver`.
        guard endsWhenCancelled, isCut.load(ordering: .relaxed) || isCancelled else { return }
        if let error = CancellationError() as? E { throw error }
    }
}

extension Parallel {
    /// The progress of a long operation.
    ///
    ///     let progress = Parallel.Progress()
    ///     Parallel(progress: progress).forEach(0..<frames.count) { render(frames[$0]) }
    ///     // meanwhile, on another thread
    ///     print(progress.completed, "of", frames.count)
    ///
    /// - Threading: Any thread.
    /// - Cost: One addition for each part of some microseconds.
    public final class Progress: Sendable {
        private let halves = Atomic(0)

        /// Creates a counter that starts at 0.
        ///
        /// - Ordering: None.
        /// - Threading: Any thread.
        /// - Cost: One allocation.
        public init() {}

        /// The number of finished elements or iterations. It never decreases.
        public var completed: Int {
            halves.load(ordering: .relaxed) / 2 // Relaxed: a statistic, which orders nothing.
        }

        @usableFromInline
        func add(_ count: Int) {
            add(halves: 2 * count)
        }

        func add(halves count: Int) {
            halves.add(count, ordering: .relaxed) // Relaxed: as above.
        }
    }

    /// Runs `body` while the calling thread is an external thread of `scheduler`. A worker of `scheduler` stays a
    /// worker. With nil, `body` runs without any change.
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
