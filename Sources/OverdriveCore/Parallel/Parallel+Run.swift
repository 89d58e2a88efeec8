internal import Synchronization

// The door for tasks: they suspend, and the thread that they were on does other things. The root runs on a worker.

extension Parallel {
    /// Runs operations on a worker, and suspends the calling task until they finish.
    ///
    ///     let frames = try await Parallel(progress: progress).run { p in try p.map(0..<count) { try decode($0) } }
    ///     let tree = await Parallel().run { _ in buildTree(points) }
    ///
    /// The task's cancellation ends the operations of `body`'s parameter that may throw any error, as a token does.
    /// Other operations run to their end, as do joins of two, `invoke` of three and a scope without `throwing`. In
    /// all of them ``Cancellation/isRequested`` turns true.
    ///
    /// - Parameter body: Runs once, and receives the value for calling operations. If the scheduler was shut down
    ///   before a worker began, the body runs on the calling task's thread and sees a cancel. The worker releases
    ///   the captures before the task continues.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Ordering: What happened before is visible to `body`, and what it wrote is visible afterwards.
    /// - Threading: From any task, in the band of its priority; on a worker of the value's scheduler, or of
    ///   ``Scheduler/shared``.
    /// - Cost: Three allocations, a submission and a resumption.
    public func run<R: Sendable, E: Error>(
        _ body: @escaping @Sendable (Parallel) throws(E) -> R
    ) async throws(E) -> R {
        let work = AwaitedWork(token)
        let inner = Parallel(
            scheduler: nil, grain: grain, placement: placement, token: token, progress: progress, isAwaited: true)
        let scheduler = scheduler ?? .shared
        let result: Result<R, E>? = await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                let root = unsafe Root(body, replyingTo: continuation)
                TaskQueue(qos: .init(Task.currentPriority.rawValue), scheduler: scheduler).async { root.run(inner, as: work) }
            }
        } onCancel: {
            work.token.cancel()
        }
        if let result { return try result.get() }
        // The closure was discarded by a shutdown. What is promised is a result of `body`.
        work.token.cancel()
        return try work.whileCurrent { () throws(E) in try body(inner) }
    }

    /// Runs operations on a worker that change an array of the calling task, and suspends the task until they finish.
    ///
    ///     await Parallel().run(mutating: &samples) { p, samples in p.sort(&samples) }
    ///
    /// - Parameters:
    ///   - array: Is handed to the worker and back: nobody copies it. After an error it is as `body` left it.
    ///   - body: Runs once, as in ``run(_:)``.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Ordering: What happened before is visible to `body`, and what it wrote is visible afterwards.
    /// - Threading: From any task, as ``run(_:)``.
    /// - Cost: As ``run(_:)``, and one allocation.
    public func run<Element: Sendable, R: Sendable, E: Error>(
        mutating array: inout [Element], _ body: @escaping @Sendable (Parallel, inout [Element]) throws(E) -> R
    ) async throws(E) -> R {
        let box = ArrayBox(array)
        array = []
        let result: Result<R, E> = await run { inner in
            box.elements.withLock { elements in
                do throws(E) { return .success(try body(inner, &elements)) } catch { return .failure(error) }
            }
        }
        // Taken out: the worker may still hold the box.
        array = box.elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
        return try result.get()
    }
}

/// What runs for a task that is suspended: cancelled with it.
private final class AwaitedWork: CurrentWork {
    let token = CancellationToken()
    private let other: CancellationToken?
    var isRequested: Bool { token.isCancelled || other?.isCancelled ?? false }

    init(_ other: CancellationToken?) { self.other = other }
}

/// The only content of a root's closure. If the closure is discarded instead of run, the root answers nil.
@safe private final class Root<R: Sendable, E: Error>: Sendable {
    private let continuation: UnsafeContinuation<Result<R, E>?, Never>
    // Taken by the one thread that runs the closure, read when the last reference is gone.
    nonisolated(unsafe) private var body: (@Sendable (Parallel) throws(E) -> R)?

    init(_ body: @escaping @Sendable (Parallel) throws(E) -> R, replyingTo continuation: UnsafeContinuation<Result<R, E>?, Never>) {
        unsafe self.continuation = continuation
        unsafe self.body = body
    }

    /// Releases the body, with its captures, and the result before the task goes on.
    func run(_ inner: Parallel, as work: AwaitedWork) {
        unsafe continuation.resume(returning: result(inner, work))
    }

    private func result(_ inner: Parallel, _ work: AwaitedWork) -> Result<R, E>? {
        guard let body = unsafe body.take() else { return nil }
        return work.whileCurrent {
            do throws(E) { return .success(try body(inner)) } catch { return .failure(error) }
        }
    }

    deinit {
        if unsafe body != nil { unsafe continuation.resume(returning: nil) }
    }
}

/// An array on its way to a worker and back.
private final class ArrayBox<Element: Sendable>: Sendable {
    let elements: Locked<[Element]>

    init(_ elements: consuming [Element]) {
        self.elements = Locked(elements)
    }
}
