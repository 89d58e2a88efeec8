import OverdriveCore

/// Where an operation is called from.
enum Caller: CaseIterable, Sendable {
    /// A thread of Swift Concurrency's.
    case task
    /// The main thread.
    case main
    /// A thread that nobody knows.
    case thread
    /// A worker of the shared scheduler.
    case worker
    /// A worker of a scheduler with one.
    case onlyWorker
    /// A worker of a scheduler with four.
    case oneOfFour
    /// The branches of a join, both.
    case branches

    /// Calls `body` from there; from both branches for ``branches``.
    func call<R: Sendable>(_ body: @escaping @Sendable () -> R) async throws -> R {
        switch self {
        case .task: return Caller.here(body)
        case .main: return await MainActor.run { Caller.here(body) }
        case .thread:
            let result = Holder<R?>(nil)
            onThreads(1) { _ in result.value = body() }
            guard let value = result.value else { fatalError("a test's thread did not run") }
            return value
        case .worker: return try await TaskQueue(scheduler: .shared).run { body() }
        case .onlyWorker: return try await TaskQueue(scheduler: makeScheduler(workers: 1)).run { body() }
        case .oneOfFour: return try await TaskQueue(scheduler: makeScheduler(workers: 4)).run { body() }
        case .branches: return Caller.here { Parallel.join(body, body).1 }
        }
    }

    private static func here<R>(_ body: () -> R) -> R { body() }
}

/// Lengths around everything that ranges are cut at.
let lengths = [0, 1, 2, 3, 7, 64, 1_000, 4_095, 4_096, 4_097, 40_000]

/// Numbers without an order, the same in each run.
func scrambled(_ count: Int, below limit: Int = .max, seed: UInt64 = 1) -> [Int] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % limit
    }
}

/// What `body` throws, as the type it has.
func thrown<E: Error>(_ type: E.Type, by body: () throws(E) -> Void) -> E? {
    do throws(E) {
        try body()
        return nil
    } catch {
        return error
    }
}
