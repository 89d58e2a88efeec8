// The same for tasks: they suspend, and the thread that they were on does other things. The root runs on a worker.

extension Parallel {
    /// Runs `operation` on a worker, and suspends the calling task meanwhile.
    ///
    ///     let tree = await Parallel.run { buildTree(points) }
    ///
    /// - Parameters:
    ///   - scheduler: Whose worker.
    ///   - operation: Runs once. ``Cancellation`` answers in it for the calling task. Where the scheduler was shut down
    ///     before a worker had begun with it, it runs on the calling task's thread, and is told that it is cancelled.
    /// - Returns: What `operation` returns.
    /// - Throws: What `operation` throws.
    /// - Ordering: What happened before is visible to `operation`, and what it wrote is visible afterwards.
    /// - Threading: From any task, in the band of its priority.
    /// - Cost: Three allocations, a submission and a resumption.
    public static func run<R: Sendable, E: Error>(
        on scheduler: Scheduler = .shared, _ operation: @escaping @Sendable () throws(E) -> R
    ) async throws(E) -> R {
        let work = AwaitedWork()
        let result: Result<R, E>? = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let reply = Reply(to: continuation)
                TaskQueue(qos: .init(Task.currentPriority.rawValue), scheduler: scheduler).async {
                    reply.give(
                        work.whileCurrent {
                            do throws(E) { return .success(try operation()) } catch { return .failure(error) }
                        })
                }
            }
        } onCancel: {
            work.token.cancel()
        }
        if let result { return try result.get() }
        // The closure was discarded by a shutdown. What is promised is a result of `operation`.
        work.token.cancel()
        return try work.whileCurrent(operation)
    }

    /// Runs two closures at the same time if two workers are free, and suspends the calling task meanwhile; see
    /// `join(_:_:)`.
    public static func join<A: Sendable, B: Sendable, E: Error>(
        on scheduler: Scheduler = .shared, _ a: @escaping @Sendable () throws(E) -> A,
        _ b: @escaping @Sendable () throws(E) -> B
    ) async throws(E) -> (A, B) {
        let pair = try await run(on: scheduler) { () throws(E) in Pair(try join(a, b)) }
        return (pair.first, pair.second)
    }

    /// Runs a closure once for each of a few numbers and combines what the calls return, while the calling task is
    /// suspended; see `join(count:_:_:_:)`.
    public static func join<R: Sendable, E: Error>(
        count: Int, _ end: R, on scheduler: Scheduler = .shared,
        _ combine: @escaping @Sendable (R, R) throws(E) -> R, _ branch: @escaping @Sendable (Int) throws(E) -> R
    ) async throws(E) -> R {
        try await run(on: scheduler) { () throws(E) in try join(count: count, end, combine, branch) }
    }

    /// Runs two closures, at the same time if two workers are free, while the calling task is suspended.
    ///
    ///     await Parallel.invoke { loadMesh() } _: { loadTextures() }
    ///
    /// - Parameters:
    ///   - scheduler: Whose workers do it.
    ///   - a: Runs once.
    ///   - b: Runs once, unless `a` has thrown before.
    /// - Throws: What `a` threw, else what `b` threw, after both have ended.
    /// - Ordering: In no order. What they wrote is visible afterwards.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and a fork.
    public static func invoke<E: Error>(
        on scheduler: Scheduler = .shared, _ a: @escaping @Sendable () throws(E) -> Void,
        _ b: @escaping @Sendable () throws(E) -> Void
    ) async throws(E) {
        try await run(on: scheduler) { () throws(E) in try invoke(a, b) }
    }

    /// Runs three closures, at the same time if workers are free, while the calling task is suspended.
    public static func invoke<E: Error>(
        on scheduler: Scheduler = .shared, _ a: @escaping @Sendable () throws(E) -> Void,
        _ b: @escaping @Sendable () throws(E) -> Void, _ c: @escaping @Sendable () throws(E) -> Void
    ) async throws(E) {
        try await run(on: scheduler) { () throws(E) in try invoke(a, b, c) }
    }

    /// Runs all closures of an array, at the same time as far as workers are free, while the calling task is
    /// suspended; see ``invoke(_:)``.
    public static func invoke(_ bodies: [@Sendable () -> Void], on scheduler: Scheduler = .shared) async {
        await run(on: scheduler) { invoke(bodies) }
    }

    /// Runs a closure once for each of a few numbers, at the same time as far as workers are free, while the calling
    /// task is suspended.
    public static func invoke<E: Error>(
        count: Int, on scheduler: Scheduler = .shared, _ body: @escaping @Sendable (Int) throws(E) -> Void
    ) async throws(E) {
        try await run(on: scheduler) { () throws(E) in try invoke(count: count, body) }
    }

    /// Runs a closure on a worker that forks as many children as it likes, and suspends the calling task until all of
    /// them are done; see ``scope(_:)``.
    ///
    ///     await Parallel.scope { scope in
    ///         for file in files { scope.fork { index(file) } }
    ///     }
    ///
    /// - Parameters:
    ///   - scheduler: Whose workers do it.
    ///   - body: Runs once.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, after all children are done.
    /// - Ordering: Children start in any order. What they wrote is visible afterwards.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and ``scope(_:)``.
    public static func scope<R: Sendable, E: Error>(
        on scheduler: Scheduler = .shared, _ body: @escaping @Sendable (inout Scope) throws(E) -> R
    ) async throws(E) -> R {
        try await run(on: scheduler) { () throws(E) in try scope(body) }
    }

    /// Runs a closure on a worker that forks children which may throw, and suspends the calling task until all of them
    /// are done; see ``scope(throwing:on:_:)``.
    public static func scope<R: Sendable, E: Error>(
        throwing type: E.Type, on scheduler: Scheduler = .shared,
        _ body: @escaping @Sendable (inout ThrowingScope<E>) throws(E) -> R
    ) async throws(E) -> R {
        try await run(on: scheduler) { () throws(E) in try scope(throwing: type, body) }
    }

    /// Calls a closure for every number of a range, and suspends the calling task meanwhile.
    ///
    ///     try await Parallel.forEach(0..<frames.count) { i in try render(frames[i]) }
    ///
    /// - Parameters:
    ///   - range: The numbers.
    ///   - scheduler: Whose workers do it.
    ///   - grain: So many iterations at least stay together.
    ///   - placement: Whether parts of the range belong to NUMA nodes.
    ///   - token: Ends the loop early, as the task's cancellation does.
    ///   - progress: Counts the iterations that are done.
    ///   - body: Called once for each number.
    /// - Throws: The body's first error, or `CancellationError` where the task or the token was cancelled; all
    ///   parts that had started have ended then.
    /// - Ordering: In no order between parts; within a part upwards.
    /// - Threading: From any task.
    /// - Cost: As ``run(on:_:)`` and `forEach(_:on:grain:placement:progress:_:)`.
    public static func forEach(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ body: @escaping @Sendable (Int) throws -> Void
    ) async throws {
        try await run(on: scheduler) {
            try forEach(range, grain: grain, placement: placement, token: token, progress: progress, body)
        }
    }

    /// Calls a closure for parts of a range, and suspends the calling task meanwhile; see
    /// `forEach(_:on:grain:placement:token:progress:_:)`.
    public static func forEachChunk(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        _ body: @escaping @Sendable (Range<Int>) throws -> Void
    ) async throws {
        try await run(on: scheduler) {
            try forEachChunk(range, grain: grain, placement: placement, token: token, progress: progress, body)
        }
    }

    /// Calls a closure for parts of a range, with something to work in, and suspends the calling task meanwhile; see
    /// ``forEachChunk(_:on:grain:placement:token:progress:scratch:_:)``.
    public static func forEachChunk<Scratch: Sendable>(
        _ range: Range<Int>, on scheduler: Scheduler = .shared, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        scratch: @escaping @Sendable () -> Scratch,
        _ body: @escaping @Sendable (Range<Int>, inout Scratch) throws -> Void
    ) async throws {
        try await run(on: scheduler) {
            try forEachChunk(
                range, grain: grain, placement: placement, token: token, progress: progress, scratch: scratch, body)
        }
    }

    /// The results of a closure for every element, while the calling task is suspended.
    public static func map<C: RandomAccessCollection & Sendable, R: Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        progress: Progress? = nil, _ transform: @escaping @Sendable (C.Element) throws -> R
    ) async throws -> [R] {
        try await run(on: scheduler) { try map(elements, token: token, progress: progress, transform) }
    }

    /// The elements that a closure says yes to, while the calling task is suspended.
    public static func filter<C: RandomAccessCollection & Sendable>(
        _ elements: C, on scheduler: Scheduler = .shared, token: CancellationToken = CancellationToken(),
        progress: Progress? = nil, _ isIncluded: @escaping @Sendable (C.Element) throws -> Bool
    ) async throws -> [C.Element] where C.Element: Sendable {
        try await run(on: scheduler) { try filter(elements, token: token, progress: progress, isIncluded) }
    }

    /// Combines values into one while the calling task is suspended.
    public static func reduce<R: Sendable>(
        _ range: Range<Int>, _ identity: R, on scheduler: Scheduler = .shared,
        token: CancellationToken = CancellationToken(), progress: Progress? = nil,
        map: @escaping @Sendable (Int) throws -> R, combine: @escaping @Sendable (R, R) throws -> R
    ) async throws -> R {
        try await run(on: scheduler) {
            try reduce(range, identity, token: token, progress: progress, map: map, combine: combine)
        }
    }
}

/// What runs for a task that is suspended: cancelled with it.
private final class AwaitedWork: CurrentWork {
    let token = CancellationToken()
    var isRequested: Bool { token.isCancelled }
}

/// What a root's closure holds, and nobody else: one that is discarded instead of run answers nil.
private final class Reply<R: Sendable, E: Error>: Sendable {
    private let continuation: UnsafeContinuation<Result<R, E>?, Never>
    // Written by the one thread that runs the closure, read when the last reference is gone.
    nonisolated(unsafe) private var isGiven = false

    init(to continuation: UnsafeContinuation<Result<R, E>?, Never>) {
        self.continuation = continuation
    }

    func give(_ result: Result<R, E>) {
        isGiven = true
        continuation.resume(returning: result)
    }

    deinit {
        if !isGiven { continuation.resume(returning: nil) }
    }
}

/// Two results on their way.
private struct Pair<A: Sendable, B: Sendable>: Sendable {
    let first: A
    let second: B

    init(_ both: (A, B)) {
        (first, second) = both
    }
}
