// Owns the public calls. A test calls them. They run one exploration at a time in a process.

public import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Runs `body` under many schedules, and throws the first one in which it fails.
///
///     try explore(iterations: 1_000, seed: 7) { scheduler, control in
///         let queue = TaskQueue(scheduler: scheduler)
///         let count = ControlledAtomic(0)
///         let group = WaitGroup()
///         for _ in 0..<2 {
///             queue.async(group: group) { count.store(count.load() + 1) }
///         }
///         group.wait()
///         control.check(count.load() == 2, "an update is lost")
///     }
///
/// The body runs once for each schedule, on a thread of the run. Threads of the run take steps one at a time. In the
/// body, `Scheduler.shared` and `TaskQueue.global()` belong to the run. Timers and the deadlines of waits follow the
/// run's clock, which jumps to the next deadline when no thread can go on.
///
/// If `OVERDRIVE_REPLAY` is the string of an earlier failure of this call, only that schedule runs.
///
/// - Parameters:
///   - iterations: The number of schedules.
///   - seed: The seed of all random choices. Equal seeds give equal schedules.
///   - strategy: The choice at each scheduling point.
///   - workers: The number of workers of the scheduler, 1 to 16.
///   - spareWorkers: The number of workers that may replace blocked ones, 0 to 16.
///   - mostSteps: The number of steps after which a run counts as a livelock.
///   - file: The calling file, part of a replay string.
///   - function: The calling function, part of a replay string.
///   - line: The calling line, part of a replay string.
///   - body: The code under test. It makes its own objects, and waits for its closures.
/// - Returns: The number of schedules and points, and the strength of the result.
/// - Throws: ``ScheduleFailure`` with the shortest failing schedule that was found; ``ExplorationError`` for arguments.
/// - Threading: Any thread outside a run. The call blocks; a second call waits for the first.
/// - Cost: About 20 µs per scheduling point, and 0.2 ms per iteration.
@discardableResult
public func explore(
    iterations: Int = 1_000, seed: UInt64 = 1, strategy: Strategy = .randomWalk, workers: Int = 2, spareWorkers: Int = 16,
    mostSteps: Int = 20_000, file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    _ body: @escaping @Sendable (Scheduler, Control) throws -> Void
) throws -> Exploration {
    if ControlledRun.isInside {
        throw ExplorationError(description: "explore: called in the body of another exploration. Call it outside.")
    }
    guard (1...16).contains(workers), (0...16).contains(spareWorkers), iterations > 0, mostSteps > 0 else {
        throw ExplorationError(
            description: "explore: argument out of range (iterations \(iterations), workers \(workers), spareWorkers \(spareWorkers), "
                + "mostSteps \(mostSteps)). Use 1 to 16 workers, 0 to 16 spare workers, and 1 or more of the others.")
    }
    if case .priorities(let depth) = strategy, !(1...17).contains(depth) {
        throw ExplorationError(description: "explore: depth out of range (\(depth)). Use 1 to 17.")
    }
    let explorer = Explorer(
        site: siteNumber(file, function, line), iterations: iterations, seed: seed, strategy: strategy, workers: workers,
        spareWorkers: spareWorkers, mostSteps: mostSteps, body: body)
    guard let text = replayText else { return try explorer.explore() }
    guard let replay = Replay(text) else {
        throw ExplorationError(
            description: "explore: OVERDRIVE_REPLAY has another form or version (\(text)). Copy the string of a failure of this version.")
    }
    return replay.site == explorer.site ? try explorer.replay(replay) : try explorer.explore()
}

/// Runs `body` under many schedules without blocking the caller's thread, and throws the first schedule under which it
/// fails.
///
/// The calling task suspends instead of blocking its thread. The body is synchronous: it waits with
/// `group.wait()`, and the run decides which thread runs next.
///
///     func lostUpdate() async throws {
///         let result = try await explore(iterations: 100) { scheduler, control in
///             let group = WaitGroup()
///             TaskQueue(scheduler: scheduler).async(group: group) { control.schedulingPoint() }
///             group.wait()
///         }
///         print(result) // no failure in 100 iterations …
///     }
///
/// - Parameters:
///   - iterations: The number of schedules.
///   - seed: The seed of all random choices. Equal seeds give equal schedules.
///   - strategy: The choice at each scheduling point.
///   - workers: The number of workers of the scheduler, 1 to 16.
///   - spareWorkers: The number of workers that may replace blocked ones, 0 to 16.
///   - mostSteps: The number of steps after which a run counts as a livelock.
///   - file: The calling file, part of a replay string.
///   - function: The calling function, part of a replay string.
///   - line: The calling line, part of a replay string.
///   - body: The code under test. It makes its own objects, and waits for its closures.
/// - Returns: The number of schedules and points, and the strength of the result.
/// - Throws: As of the synchronous form.
/// - Threading: Any task outside a run. The exploration blocks a worker of ``/OverdriveCore/TaskQueue/background`` meanwhile.
/// - Cost: As of the synchronous form.
@discardableResult
public func explore(
    iterations: Int = 1_000, seed: UInt64 = 1, strategy: Strategy = .randomWalk, workers: Int = 2, spareWorkers: Int = 16,
    mostSteps: Int = 20_000, file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    _ body: @escaping @Sendable (Scheduler, Control) throws -> Void
) async throws -> Exploration {
    try await withCheckedThrowingContinuation { continuation in
        TaskQueue.background.async {
            let outcome = Result {
                try explore(
                    iterations: iterations, seed: seed, strategy: strategy, workers: workers, spareWorkers: spareWorkers,
                    mostSteps: mostSteps, file: file, function: function, line: line, body)
            }
            continuation.resume(with: outcome)
        }
    }
}

/// Returns a number of the call that is equal in every process.
private func siteNumber(_ file: StaticString, _ function: StaticString, _ line: UInt32) -> UInt16 {
    var digest = Digest()
    "\(file):\(function):\(line)".utf8.forEach { digest.add(UInt64($0)) }
    return UInt16(truncatingIfNeeded: digest.value >> 48)
}

private var replayText: String? {
    unsafe getenv("OVERDRIVE_REPLAY").map { unsafe String(cString: $0) }
}
