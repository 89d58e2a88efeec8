// Owns the entry point for Swift tasks: operations run on a worker while the calling task is suspended. Programs
// call it. It never blocks a thread of the Swift runtime's pool, except after a shutdown.

internal import Synchronization


extension Parallel {
    /// Runs operations on a worker, and suspends the calling task until they finish.
    ///
    ///     let frames = try await Parallel(progress: progress).run { p in try p.map(0..<count) { try decode($0) } }
    ///     let tree = await Parallel().run { _ in buildTree(points) }
    ///
    /// Cancellation of the task ends the operations of the closure's parameter that may throw any error, as a token
    /// does. Other operations run to their end, as do joins of two, `invoke` of three and a scope without `throwing`.
    /// In all operations, ``Cancellation/isRequested`` becomes true.
    ///
    /// - Parameter body: Runs once, and receives the value for calling operations. If a shutdown discards the call
    ///   before a worker starts it, `body` runs on the task's own thread and sees a cancellation. The worker releases the
    ///   captures before the task resumes.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`.
    /// - Ordering: Earlier writes are visible to `body`, and its writes are visible after the call.
    /// - Threading: Any task. `body` runs on a worker of the value's scheduler, or of ``Scheduler/shared``, in the
    ///   band of the task's priority.
    /// - Cost: Three allocations, one submission and one resumption.
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
        // A shutdown discarded the closure. `run` still promises a result of `body`, so it runs here, cancelled.
        work.token.cancel()
        return try work.whileCurrent { () throws(E) in try body(inner) }
    }

    /// Runs operations on a worker that change an array of the calling task, and suspends the task until they finish.
    ///
    ///     await Parallel().run(mutating: &samples) { p, samples in p.sort(&samples) }
    ///
    /// - Parameters:
    ///   - array: The array to change. It moves to the worker and back without a copy, and keeps all changes after an
    ///     error.
    ///   - body: Runs once, as in ``run(_:)``.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`.
    /// - Ordering: Earlier writes are visible to `body`, and its writes are visible after the call.
    /// - Threading: Any task, as for ``run(_:)``.
    /// - Cost: The same as ``run(_:)``, and one allocation.
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
        // Take the array out of the box, since the worker may still hold a reference to the box; else the next write
        // copies.
        array = box.elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
        return try result.get()
    }
}

/// The current work of a suspended task's operations. It is cancelled with the task, or by the token of the settings.
private final class AwaitedWork: CurrentWork {
    let token = CancellationToken()
    private let other: CancellationToken?
    var isRequested: Bool { token.isCancelled || other?.isCancelled ?? false }

    init(_ other: CancellationToken?) { self.other = other }
}

/// The only capture of the submitted closure. If the closure is discarded, `deinit` resumes the task with nil.
@safe private final class Root<R: Sendable, E: Error>: Sendable {
    private let continuation: UnsafeContinuation<Result<R, E>?, Never>
    // Only the thread that runs the closure takes the body. `deinit` reads it after the last release.
    nonisolated(unsafe) private var body: (@Sendable (Parallel) throws(E) -> R)?

    init(_ body: @escaping @Sendable (Parallel) throws(E) -> R, replyingTo continuation: UnsafeContinuation<Result<R, E>?, Never>) {
        unsafe self.continuation = continuation
        unsafe self.body = body
    }

    /// Runs the body, releases it with its captures, and then resumes the task.
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

/// Moves an array to a worker and back.
private final class ArrayBox<Element: Sendable>: Sendable {
    let elements: Locked<[Element]>

    init(_ elements: consuming [Element]) {
        self.elements = Locked(elements)
    }
}
