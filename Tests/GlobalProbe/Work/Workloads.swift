internal import Dispatch
internal import Glibc
internal import Synchronization

/// What the probes do: async work of every kind, and a line for each thing seen.
public enum Workload {
    /// Runs the workload of that name; false where there is none.
    public static func run(_ name: String) async throws -> Bool {
        switch name {
        case "kinds": try await kinds()
        case "deadlock": await deadlock()
        case "clocks": try await clocks()
        case "hook": await hookSeesJobs()
        case "blocked": await blocked(count: 1_000, "sleep(1)") { sleep(1) }
        case "blocked-briefly": await blocked(count: 100, "usleep(100,000)") { usleep(100_000) }
        case "raised": await raised()
        case "raised-twice": try await raisedTwice()
        case "raised-anywhere": await raisedAnywhere()
        case "meet": await meet()
        default: return false
        }
        return true
    }

    /// One line, whole, whatever others write.
    public static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    /// Whose thread the caller is on: "overdrive" for a worker, "main", or "other".
    public static func floor() -> String {
        if isOnFirstThread { return "main" }
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "nowhere" }
        defer { fclose(file) }
        var name = [UInt8](repeating: 0, count: 32)
        let count = fread(&name, 1, name.count, file)
        return String(decoding: name.prefix(count), as: UTF8.self).hasPrefix("overdrive") ? "overdrive" : "other"
    }

    private static var isOnFirstThread: Bool {
        var place = [UInt8](repeating: 0, count: 64)
        let count = readlink("/proc/thread-self", &place, place.count)
        return String(decoding: place.prefix(max(0, count)), as: UTF8.self) == "\(getpid())/task/\(getpid())"
    }

    // MARK: - Every kind of job

    private actor Place {
        func floor() -> String { Workload.floor() }
    }

    @concurrent private static func concurrent() async -> String { floor() }

    private static func kinds() async throws {
        say("task \(await Task { floor() }.value)")
        say("detached \(await Task.detached(priority: .background) { floor() }.value)")
        say("group " + (await withTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { floor() } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }.sorted().joined(separator: "+")
        }))
        async let child = concurrent()
        say("async let \(await child)")
        let places = [Place(), Place()]
        var seen = Set<String>()
        for round in 0..<100 { seen.insert(await Task.detached { await places[round % 2].floor() }.value) }
        say("actor \(seen.sorted().joined(separator: "+"))")
        say("yield \(await Task.detached { await Task.yield(); return floor() }.value)")
        say("sleep \(try await Task.detached { try await Task.sleep(nanoseconds: 1_000); return floor() }.value)")
        say("main actor \(await Task.detached { await MainActor.run { isOnMainQueue() ? "main queue" : floor() } }.value)")
        say("priority \(await Task.detached(priority: .high) { Task.currentPriority == .high ? "kept" : "lost" }.value)")
    }

    private static let mainMark: DispatchSpecificKey<Bool> = {
        let mark = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mark, value: true)
        return mark
    }()

    private static func isOnMainQueue() -> Bool {
        _ = mainMark
        return isOnFirstThread || DispatchQueue.getSpecific(key: mainMark) == true
    }

    // MARK: - Priorities

    /// 100,000 utility tasks, the last of which is awaited by somebody who is in a hurry.
    private static func raised() async {
        let ended = Counter()
        let others = spinning(ended)
        await hurry(seeing(ended, priority: .utility), others, ended)
    }

    /// A background task that a utility one awaits, and then, behind 100,000 utility tasks, somebody who is in a hurry. For one worker.
    private static func raisedTwice() async throws {
        let ended = Counter(), ready = Counter()
        let hold = Task.detached(priority: .high) { while ready.value == 0 {} }
        // A low band has its share of the turns: these are ahead of the task in it.
        let ahead = (0..<10_000).map { _ in Task.detached(priority: .background) {} }
        let before = Task.detached(priority: .background) {}
        let task = seeing(ended, priority: .background)
        let behind = Task.detached(priority: .background) {}
        let begun = Counter()
        let first = Task.detached(priority: .utility) {
            begun.add()
            _ = await task.value
        }
        let others = spinning(ended)
        ready.add()
        await hold.value
        while begun.value == 0 { try await Task.sleep(for: .milliseconds(1)) }
        // By its turn on the only worker the first of them awaits the task. Who looks through the line finds its neighbours one after
        // the other, and comes by the task in between: it leaves its line for the others'.
        await Task.detached(priority: .userInitiated) {
            await before.value
            await behind.value
        }.value
        await hurry(task, others, ended)
        await first.value
        for task in ahead { await task.value }
    }

    /// When a task began, how many had ended then, and its priority.
    private typealias Seen = (ContinuousClock.Instant, Int, TaskPriority)

    private static func seeing(_ ended: Counter, priority: TaskPriority) -> Task<Seen, Never> {
        Task.detached(priority: priority) { (.now, ended.value, Task.currentPriority) }
    }

    private static func spinning(_ ended: Counter) -> [Task<Void, Never>] {
        (1..<100_000).map { _ in
            Task.detached(priority: .utility) {
                spin(for: .microseconds(20))
                ended.add()
            }
        }
    }

    private static func hurry(_ task: Task<Seen, Never>, _ others: [Task<Void, Never>], _ ended: Counter) async {
        let asker = Task.detached(priority: .userInitiated) {
            let begun = ContinuousClock.now, before = ended.value
            let (started, ended, priority) = await task.value
            return (begun.duration(to: started), ended - before, priority)
        }
        let (delay, before, priority) = await asker.value
        let left = others.count + 1 - ended.value
        say("raised task started after \(delay), \(before) others and with \(left) waiting, as \(priority.rawValue)")
        for other in others { await other.value }
        say("all \(ended.value) others ended")
    }

    /// 40,000 tasks of both low bands, some of which are awaited one after the other, wherever they stand, by somebody who is in a hurry.
    private static func raisedAnywhere() async {
        let count = 40_000
        let ended = Counter()
        let tasks = (0..<count).map { number in
            Task.detached(priority: number % 2 == 0 ? .utility : .background) {
                let before = ended.value, priority = Task.currentPriority
                spin(for: .microseconds(20))
                ended.add()
                return (before, priority)
            }
        }
        let asker = Task.detached(priority: .userInitiated) {
            var latest = 0, raised = 0, random = SystemRandomNumberGenerator()
            for _ in 0..<50 {
                let asked = ended.value
                let (before, priority) = await tasks[Int.random(in: count / 2..<count, using: &random)].value
                if priority.rawValue == 25 { raised += 1 }
                latest = max(latest, before - asked)
            }
            return (raised, latest)
        }
        let (raised, latest) = await asker.value
        say("\(raised) raised, the latest after \(latest) others")
        for task in tasks { _ = await task.value }
        say("all \(ended.value) ended")
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        @discardableResult func add() -> Int { count.add(1, ordering: .relaxed).newValue }
        var value: Int { count.load(ordering: .relaxed) }
    }

    private static func spin(for time: Duration) {
        let start = ContinuousClock.now
        while start.duration(to: .now) < time {}
    }

    // MARK: - Time

    private static func clocks() async throws {
        let continuous = ContinuousClock(), suspending = SuspendingClock()
        let delay = Duration.milliseconds(5)
        var early = 0
        for _ in 0..<20 {
            let start = continuous.now
            try await Task.sleep(for: delay, tolerance: .milliseconds(1))
            if start.duration(to: .now) < delay { early += 1 }
            let second = suspending.now
            try await Task.sleep(until: second.advanced(by: delay), clock: .suspending)
            if second.duration(to: .now) < delay { early += 1 }
            let third = continuous.now
            try await Task.sleep(nanoseconds: 5_000_000)
            if third.duration(to: .now) < delay { early += 1 }
        }
        say("early \(early)")
        let order = await withTaskGroup(of: Int.self) { group in
            let start = continuous.now
            for number in [3, 1, 2] {
                group.addTask {
                    try? await Task.sleep(until: start.advanced(by: .milliseconds(40 * number)), clock: .continuous)
                    return number
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        say("order \(order)")
        let sleeper = Task { try await Task.sleep(for: .seconds(3600)) }
        sleeper.cancel()
        if case .failure(let error) = await sleeper.result { say("cancelled \(error is CancellationError)") }
        try await Task.sleep(for: .seconds(-1))
        try await Task.sleep(until: .now, clock: .continuous)
        say("past deadlines end")
    }

    // MARK: - Blocking

    /// 63 tasks that block until the 64th signals.
    private static func deadlock() async {
        let door = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<63 { group.addTask { wait(for: door) } }
            group.addTask { for _ in 0..<63 { door.signal() } }
        }
        say("deadlock probe ended after \(start.duration(to: .now))")
    }

    /// So many tasks, each in a system call, and how many threads the process had for them at most.
    private static func blocked(count: Int, _ name: String, _ call: @escaping @Sendable () -> Void) async {
        let start = ContinuousClock.now
        let most = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { call(); return threads() } }
            return await group.reduce(0, max)
        }
        say("\(count) tasks that \(name) ended after \(start.duration(to: .now)), with \(most) threads at most")
    }

    /// 128 tasks that block until all of them do, or until the pool has said that it cannot have as many threads.
    private static func meet() async {
        let count = 128
        let arrived = Counter(), door = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        dup2(ends[1], STDERR_FILENO)
        let end = ends[0]
        DispatchQueue.global().async {
            var said = [UInt8](), part = [UInt8](repeating: 0, count: 4_096)
            while !String(decoding: said, as: UTF8.self).contains("is stuck") {
                let length = read(end, &part, part.count)
                guard length > 0 else { return }
                said += part.prefix(length)
            }
            say("said after \(start.duration(to: .now)): \(String(decoding: said, as: UTF8.self).split(separator: "\n")[0])")
            for _ in 0..<count { door.signal() }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    if arrived.add() == count { for _ in 0..<count { door.signal() } }
                    wait(for: door)
                }
            }
        }
        say("\(arrived.value) tasks met")
    }

    private static func threads() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&text, 1, text.count, file)
        for line in String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n") where line.hasPrefix("Threads:") {
            return line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
        }
        return 0
    }

    private static func wait(for door: DispatchSemaphore) {
        door.wait()
    }

    // MARK: - Another library's hook

    private static let taken = Atomic(0)

    /// What NIO's takeover does: takes each job and hands it on, here to the executor of before.
    public static func takeHook() {
        typealias Original = @convention(thin) (UnownedJob) -> Void
        typealias Hook = @convention(thin) (UnownedJob, Original) -> Void
        let hook: Hook = { job, original in
            Workload.taken.add(1, ordering: .relaxed)
            original(job)
        }
        guard let place = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return say("no hook") }
        place.storeBytes(of: unsafeBitCast(hook, to: UnsafeRawPointer?.self), as: UnsafeRawPointer?.self)
    }

    private static func hookSeesJobs() async {
        let seen = await Task.detached { floor() }.value
        say("hook \(taken.load(ordering: .relaxed) > 0 ? "takes jobs" : "idle"), they run on \(seen)")
    }
}
