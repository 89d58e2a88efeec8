// Owns the diagnostic snapshot of a scheduler and its text. Programs and diagnosis threads call it. It never
// stops a worker.

internal import CScheduler

extension Scheduler {
    /// A snapshot of a scheduler's workers and queues, for diagnosing a hang.
    ///
    ///     print(scheduler.dump())
    ///     // Scheduler "render": 2 workers, 14 closures waiting
    ///     //   worker 0 (thread 4711): runs "tiles" for 2.31 s, 3 waiting
    ///     //   worker 1 (thread 4712): waits in "pages" for 2.29 s, in sync on "tiles", which worker 0 runs
    ///     //   queue "tiles" (serial, default): 11 pending, 1 running
    ///     //   queue "io" (concurrent, default): 0 pending, 2 tasks wait for dependencies or conditions
    ///
    /// If a closure waits for one that also waits, a line shows the whole chain. If closures wait for each other in a
    /// circle, another line names the deadlock:
    ///
    ///     // chain: worker 2 in "pages" waits for worker 1 in "db", which waits for worker 0 in "disk"
    ///     // deadlock: worker 0 in "a" waits for worker 1 in "b", which waits for worker 0
    public struct Dump: Sendable, CustomStringConvertible {
        /// The state of one worker.
        public struct Worker: Sendable, Hashable {
            /// The activity of a worker.
            public enum Activity: Sendable, Hashable {
                /// The worker searches for work, or sleeps.
                case idle
                /// It runs a closure of the queue with this label, for at least this time; see ``Worker/atMost``.
                case runs(queue: String, atLeast: Duration)
                /// Its closure blocks for at least this time, so a spare may run; see ``Worker/waitsFor``.
                case blocks(queue: String, atLeast: Duration)
                /// It is a parked spare, beyond the number of workers that may run now.
                case spare
            }

            /// The worker's number in the scheduler; the thread's name ends with it.
            public let index: Int
            /// The kernel's thread ID; 0 while the thread starts.
            public let threadID: Int
            /// The kernel's number of the worker's NUMA node.
            public let node: Int
            /// The worker's activity.
            public let activity: Activity
            /// The maximum run time of the current closure. It equals the time in ``activity-swift.property`` in most
            /// cases. The times differ if the worker noted the time some closures earlier, and no thread has read the
            /// state since.
            public let atMost: Duration?
            /// The object for which the closure waits, as in `in sync on "tiles"`.
            public let waitsFor: String?
            /// The label of the queue in ``waitsFor``.
            let waitsAt: String?
            /// The IDs of that queue and of the closure's own queue, since labels may be equal; 0 for none.
            let waitsAtID, queueID: UInt
            /// The number of closures that the worker has run.
            public let executed: Int
            /// The number of closures in the worker's deques.
            public let waiting: Int
        }

        /// The state of one queue that has pending closures or tasks, or is suspended.
        public struct Queue: Sendable, Hashable {
            /// The queue's label.
            public let label: String
            /// The quality of service of its closures.
            public let qos: TaskQueue.QoS
            /// The maximum number of concurrent closures, or ``TaskQueue/unlimited``.
            public let maxConcurrentTaskCount: Int
            /// Whether the queue is suspended.
            public let isSuspended: Bool
            /// False until ``TaskQueue/activate()``, for a queue that was created inactive.
            public let isActive: Bool
            /// The number of submitted closures that have not finished, including running ones.
            public let pending: Int
            /// The number of these closures that have started.
            public let running: Int
            /// The number of tasks that wait for dependencies, conditions or their next attempt.
            public let waitingTasks: Int
            /// The number of tasks whose bodies have returned without a call of `finish(with:)`.
            public let unfinishedTasks: Int
            /// The number of tasks whose asynchronous bodies run or are suspended. Each takes a slot of a limited queue.
            public let asynchronousTasks: Int
            /// The ID of the queue.
            let id: UInt
        }

        /// The scheduler's name.
        public let name: String
        /// The workers whose threads exist.
        public let workers: [Worker]
        /// The queues with pending closures or tasks or a suspension, at most 1,000 of them.
        public let queues: [Queue]
        /// The number of queues with pending closures or tasks or a suspension.
        public let queueCount: Int
        /// The number of closures from external threads that no worker has taken yet.
        public let waiting: Int
        /// Circles of waiting workers, by ``Worker/index``. The closure of each worker waits for a queue that the
        /// next worker holds; the last one waits for the first. Two consecutive reads have found each of these waits.
        ///
        /// The search covers `sync` and waits for all closures of a queue, between closures on workers of one
        /// scheduler. It does not cover groups, semaphores, locks or other threads. It finds no circle through a
        /// thread in `sync`, or through a queue with a free slot.
        public let deadlocks: [[Int]]
        /// Chains of at least three workers, by ``Worker/index``: each closure waits for a queue that the next worker
        /// holds. The last worker waits for none of these; examine it first.
        public let waitChains: [[Int]]
    }

    /// Reads the state of every worker and queue.
    ///
    /// - Returns: The states at the time of the reads; no worker is stopped.
    /// - Ordering: Workers and queues are read one after another, so the snapshot has no single moment.
    /// - Threading: Any thread, including closures and diagnosis threads that a signal wakes; not signal handlers.
    /// - Cost: Some microseconds for each worker, for each unfinished task, and for each queue up to the maximum that ever
    ///   existed at once.
    public func dump() -> Dump {
        let (queues, queueCount) = reportedQueues()
        let workers = reportedWorkers()
        let waits = Waits(of: workers, at: queues)
        // The reads of two workers have different times, so a circle is reported only if its waits last until a
        // second read.
        let lasting = waits.circles.isEmpty ? [] : waits.circles(lastingIn: reportedWorkers())
        return unsafe Dump(
            name: name, workers: workers, queues: queues, queueCount: queueCount,
            waiting: Int(clamping: od_pool_waiting(handle)), deadlocks: lasting, waitChains: waits.chains)
    }

    private func reportedWorkers() -> [Dump.Worker] {
        let most = 2_048
        let reports = unsafe [od_worker_report](unsafeUninitializedCapacity: most) { room, count in
            count = unsafe Int(od_pool_report_workers(handle, room.baseAddress, Int32(room.count)))
        }
        return unsafe reports.map(Dump.Worker.init)
    }

    private func reportedQueues() -> ([Dump.Queue], Int) {
        let most = 1_000
        var all = 0
        let reports = unsafe [od_queue_report](unsafeUninitializedCapacity: most) { room, count in
            all = unsafe Int(od_pool_report_queues(handle, room.baseAddress, Int32(room.count)))
            count = min(all, most)
        }
        var parked = TaskQueue.parkedTasks
        var queues = reports.map { Dump.Queue($0, parked.removeValue(forKey: UInt($0.id)) ?? ParkedTasks()) }
        // Queues with tasks alone are not among the reports.
        for (id, tasks) in parked where all <= most {
            var report = od_queue_report()
            guard unsafe od_pool_report_queue(handle, id, &report) else { continue }
            queues.append(Dump.Queue(report, tasks))
            all += 1
        }
        return (queues, all)
    }
}

extension Scheduler.Dump.Worker {
    init(_ report: od_worker_report) {
        index = unsafe Int(report.index)
        threadID = unsafe Int(report.thread_id)
        node = unsafe Int(report.node)
        executed = unsafe Int(clamping: report.executed)
        waiting = unsafe Int(clamping: report.waiting)
        let label = unsafe string(of: report.queue)
        switch unsafe report.doing {
        case OD_WORKER_RUNS: activity = unsafe .runs(queue: label, atLeast: .nanoseconds(report.running_ns))
        case OD_WORKER_BLOCKS: activity = unsafe .blocks(queue: label, atLeast: .nanoseconds(report.waiting_ns))
        case OD_WORKER_SPARE: activity = .spare
        default: activity = .idle
        }
        let isInClosure = unsafe report.doing == OD_WORKER_RUNS || report.doing == OD_WORKER_BLOCKS
        atMost = unsafe isInClosure ? .nanoseconds(report.running_at_most_ns) : nil
        let at = unsafe string(of: report.waits_at)
        waitsAt = at.isEmpty ? nil : at
        waitsAtID = unsafe UInt(report.waits_at_id)
        queueID = unsafe UInt(report.queue_id)
        waitsFor = unsafe report.waits_for.map { unsafe String(cString: $0) + (at.isEmpty ? "" : " \"\(at)\"") }
    }

    fileprivate var queueOfClosure: String? {
        switch activity {
        case .runs(let queue, _), .blocks(let queue, _): queue
        case .idle, .spare: nil
        }
    }

    /// - Parameter others: The workers for which this one may wait.
    fileprivate func line(among others: [Self]) -> String {
        let doing =
            switch activity {
            case .idle: "idle"
            case .spare: "spare"
            case .runs(let queue, let time): "runs \"\(queue)\" for \(seconds(from: time, to: atMost ?? time))"
            case .blocks(let queue, let time): "waits in \"\(queue)\" for \(seconds(time))\(whom(among: others))"
            }
        let thread = threadID == 0 ? "its thread starts" : "thread \(threadID)"
        return "  worker \(index) (\(thread)): \(doing)" + (waiting > 0 ? ", \(waiting) waiting" : "")
    }

    /// Returns the object of the wait, and the workers that run closures of the queue in question.
    private func whom(among others: [Self]) -> String {
        guard let waitsFor else { return "" }
        let runners = holders(among: others)
        guard let last = runners.last else { return ", \(waitsFor)" }
        let numbers = runners.dropLast().map { "\($0.index)" }.joined(separator: ", ")
        let workers = runners.count == 1 ? "worker \(last.index) runs" : "workers \(numbers) and \(last.index) run"
        return ", \(waitsFor), which \(workers)"
    }
}

extension Scheduler.Dump.Queue {
    fileprivate init(_ report: od_queue_report, _ tasks: ParkedTasks) {
        (waitingTasks, unfinishedTasks, asynchronousTasks) = (tasks.waiting, tasks.unfinished, tasks.elsewhere)
        id = UInt(report.id)
        label = string(of: report.label)
        qos = TaskQueue.QoS(rawValue: Int32(report.band.rawValue)) ?? .default
        maxConcurrentTaskCount =
            report.width == Int32(OD_UNLIMITED) ? TaskQueue.unlimited : Int(report.width)
        isSuspended = report.suspended
        isActive = report.active
        pending = Int(clamping: report.pending)
        running = Int(clamping: report.running)
    }

    fileprivate var line: String {
        let width =
            switch maxConcurrentTaskCount {
            case 1: "serial"
            case TaskQueue.unlimited: "concurrent"
            case let limit: "\(limit) at a time"
            }
        let state = (isSuspended ? ", suspended" : "") + (isActive ? "" : ", inactive")
        func counted(_ tasks: Int, _ doing: String, _ doingAll: String) -> String {
            tasks == 0 ? "" : tasks == 1 ? ", 1 task \(doing)" : ", \(tasks) tasks \(doingAll)"
        }
        return "  queue \"\(label)\" (\(width), \(qos)\(state)): \(pending) pending"
            + (running > 0 ? ", \(running) running" : "")
            + counted(waitingTasks, "waits for dependencies or conditions", "wait for dependencies or conditions")
            + counted(unfinishedTasks, "waits for finish(with:)", "wait for finish(with:)")
            + counted(asynchronousTasks, "is in its async body", "are in their async bodies")
    }
}

extension Scheduler.Dump {
    /// The whole snapshot as lines of text, as in the example.
    public var description: String {
        func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let queued = waiting + workers.reduce(0) { $0 + $1.waiting }
        let spares = workers.count { $0.activity == .spare }
        let threads = counted(workers.count - spares, "worker") + (spares > 0 ? " and " + counted(spares, "spare") : "")
        let head = "Scheduler \"\(name)\": \(threads), \(counted(queued, "closure")) waiting"
        var lines = [head] + workers.map { $0.line(among: workers) } + queues.map(\.line)
        if queueCount > queues.count { lines.append("  and \(queueCount - queues.count) more queues") }
        lines += waitChains.map { "  chain: \(path($0))" }
        lines += deadlocks.map { "  deadlock: \(path($0)), which waits for worker \($0[0])" }
        return lines.joined(separator: "\n")
    }
}

extension Scheduler.Dump {
    /// Returns a path such as `worker 2 in "pages" waits for worker 1 in "db", which waits for worker 0 in "disk"`.
    private func path(_ chain: [Int]) -> String {
        let names = chain.map { index in
            let queue = workers.first { $0.index == index }?.queueOfClosure ?? ""
            return "worker \(index)" + (queue.isEmpty ? "" : " in \"\(queue)\"")
        }
        return names[0] + " waits for " + names.dropFirst().joined(separator: ", which waits for ")
    }
}

/// Returns a duration, or its range if the bounds differ by 10 ms or more.
private func seconds(from least: Duration, to most: Duration) -> String {
    if most - least < .milliseconds(10) { return seconds(most) }
    return least < .milliseconds(10) ? "up to \(seconds(most))" : "\(seconds(least)) to \(seconds(most))"
}

/// Returns a duration in seconds with two decimal places.
private func seconds(_ time: Duration) -> String {
    let hundredths = Int(time / .milliseconds(10))
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
}

/// Returns the text of a label, which the engine stores as a zero-terminated byte array.
func string<Label>(of label: Label) -> String {
    unsafe withUnsafeBytes(of: label) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
