internal import Glibc
internal import OverdriveCore
internal import ProbeWork
internal import Synchronization

/// Async work of every kind at once, for `PROBE_SECONDS` (2): each kind again and again, and each says what came back
/// as it should not. What the sanitizers watch; see `scripts/swift-sanitized`.
enum Mixed {
    private typealias Kind = @Sendable () async throws -> Bool

    static func run() async {
        let seconds = getenv("PROBE_SECONDS").flatMap { Double(String(cString: $0)) } ?? 2
        let end = ContinuousClock.now + .seconds(seconds)
        let kinds: [(String, Kind)] = [
            ("group", group), ("cancelled group", cancelledGroup), ("async let", { await tree(7) == 128 }),
            ("actors", actors), ("actor on a queue", actorOnQueue), ("tasks on a queue", tasksOnQueue), ("run", runs),
            ("full queue", fullQueue), ("sleep", sleeps), ("yield", yields), ("raised", raised), ("blocked", blocked),
            ("stream", stream), ("scheduler", ownScheduler),
        ]
        let wrong = Count(), rounds = Count()
        await withTaskGroup(of: Void.self) { group in
            for (name, kind) in kinds {
                group.addTask {
                    while ContinuousClock.now < end {
                        let isRight = (try? await kind()) ?? false
                        rounds.add(1)
                        if !isRight {
                            wrong.add(1)
                            Workload.say("wrong: \(name)")
                        }
                    }
                }
            }
        }
        Workload.say("mixed: \(kinds.count) kinds, \(rounds.value > kinds.count ? "many" : "few") rounds, "
            + "\(wrong.value) wrong")
    }

    private static func group() async -> Bool {
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<200 { group.addTask(priority: number % 3 == 0 ? .utility : nil) { number } }
            return await group.reduce(0, +) == 199 * 100
        }
    }

    private static func cancelledGroup() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 { group.addTask { (try? await Task.sleep(for: .seconds(3600))) == nil } }
            group.cancelAll()
            return await group.reduce(true) { $0 && $1 }
        }
    }

    @concurrent private static func tree(_ depth: Int) async -> Int {
        if depth == 0 { return 1 }
        async let left = tree(depth - 1), right = tree(depth - 1)
        return await left + right
    }

    private actor Place {
        var visits = 0
        func visit() { visits += 1 }
    }

    private static func actors() async -> Bool {
        let places = [Place(), Place(), Place()]
        await withTaskGroup(of: Void.self) { group in
            for start in 0..<4 {
                group.addTask { for number in 0..<99 { await places[(start + number) % 3].visit() } }
            }
        }
        var visits = 0
        for place in places { visits += await place.visits }
        return visits == 4 * 99
    }

    private actor Journal {
        let queue: TaskQueue
        // Of the actor and of the queue's closures, which are one isolation.
        var lines = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }

        init(on queue: TaskQueue) { self.queue = queue }
        func write() { lines += 1 }
        nonisolated func writeInside() { assumeIsolated { $0.lines += 1 } }
    }

    private static func actorOnQueue() async -> Bool {
        let queue = TaskQueue.serial(label: "journal")
        let journal = Journal(on: queue)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        if number % 2 == 0 { await journal.write() } else { queue.async { journal.writeInside() } }
                    }
                }
            }
        }
        try? await queue.run {}
        return await journal.lines == 200
    }

    private static func tasksOnQueue() async -> Bool {
        let queue = TaskQueue.concurrent(label: "narrow", maxConcurrentTaskCount: 2)
        let running = Count(), beyond = Count()
        await withTaskExecutorPreference(queue.taskExecutor) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        if running.add(1) > 2 { beyond.add(1) }
                        running.add(-1)
                        await Task.yield()
                    }
                }
            }
        }
        return beyond.value == 0
    }

    private static let serial = TaskQueue.serial(label: "runs")
    private nonisolated(unsafe) static var ofSerial = 0

    private static func runs() async throws -> Bool {
        struct Refused: Error {}
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let task = Task {
                        try await serial.run {
                            ofSerial += 1
                            if number % 5 == 0 { throw Refused() }
                            return number
                        }
                    }
                    if number % 7 == 0 { task.cancel() }
                    switch await task.result {
                    case .success(let value): return value == number && number % 5 != 0
                    case .failure(is Refused): return number % 5 == 0
                    case .failure: return number % 7 == 0
                    }
                }
            }
            return try await group.reduce(true) { $0 && $1 }
        }
    }

    private static let full = TaskQueue(pendingLimit: 4, policy: .wait, label: "full", maxConcurrentTaskCount: 2)
    private static let rejecting = TaskQueue(pendingLimit: 4, policy: .reject, label: "rejecting", maxConcurrentTaskCount: 2)

    private static func fullQueue() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        return try await (number % 2 == 0 ? full : rejecting).run { number } == number
                    } catch {
                        return error is TaskQueue.PendingLimitReached && number % 2 == 1
                    }
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    private static func sleeps() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let start = ContinuousClock.now, time = Duration.microseconds(number * 20)
                    let task = Task { try await Task.sleep(for: time) }
                    if number % 10 == 0 { task.cancel() }
                    let isWhole = (try? await task.value) != nil
                    return number % 10 == 0 || isWhole && start.duration(to: .now) >= time
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    private static func yields() async -> Bool {
        for _ in 0..<200 { await Task.yield() }
        return true
    }

    private static func raised() async -> Bool {
        let tasks = (0..<300).map { number in Task.detached(priority: number % 2 == 0 ? .utility : .background) { number } }
        let last = await Task.detached(priority: .userInitiated) { await tasks[299].value + (await tasks[150].value) }.value
        var sum = 0
        for task in tasks { sum += await task.value }
        return last == 449 && sum == 299 * 150
    }

    private static func sleepInTheKernel() { usleep(2_000) }

    private static func blocked() async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { sleepInTheKernel() } }
        }
        return true
    }

    private static func stream() async -> Bool {
        let (stream, source) = AsyncStream.makeStream(of: Int.self)
        async let sum = stream.reduce(0, +)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for number in 0..<50 { source.yield(number) } } }
        }
        source.finish()
        return await sum == 4 * 49 * 25
    }

    private static func ownScheduler() async throws -> Bool {
        let scheduler = try Scheduler(workers: 2, name: "own")
        let tasks = (0..<20).map { number in
            Task(executorPreference: scheduler) {
                await Task.yield()
                return number
            }
        }
        await scheduler.shutdown(timeout: .zero)
        var sum = 0
        for task in tasks { sum += await task.value }
        return sum == 190
    }
}

/// A number that tasks count in.
final class Count: Sendable {
    private let count = Atomic(0)
    @discardableResult func add(_ number: Int) -> Int { count.add(number, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .relaxed) }
}
