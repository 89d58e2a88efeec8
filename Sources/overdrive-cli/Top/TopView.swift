internal import FoundationEssentials

/// Formats two snapshots of a process: the last one, and the rates since the one before.
struct TopView {
    enum Order: String { case pending, busy, label }

    var program: String
    var process: Int32
    var before: TopSnapshot
    var now: TopSnapshot
    var order = Order.pending
    var isFrozen = false

    private var seconds: Double { max(Double(now.taken &- before.taken) / 1e9, 0.001) }

    private func rate(_ value: (TopSnapshot.Pool) -> UInt64, of pool: Int) -> Double {
        // If the schedulers are others than before, the rates are 0 for one renewal.
        let isSame = before.pools.count == now.pools.count && before.pools[pool].name == now.pools[pool].name
        let old = value(isSame ? before.pools[pool] : now.pools[pool])
        return Double(value(now.pools[pool]) - min(old, value(now.pools[pool]))) / seconds
    }

    private var queues: [TopSnapshot.Queue] {
        switch order {
        case .pending: now.queues.sorted { ($0.pending, $1.label) > ($1.pending, $0.label) }
        case .busy: now.queues.sorted { ($0.busy, $1.label) > ($1.busy, $0.label) }
        case .label: now.queues.sorted { $0.label < $1.label }
        }
    }

    /// The lines, at most as many as the terminal has. Workers that do nothing come last.
    func lines(height: Int) -> [String] {
        let workers = now.workers.count { $0.doing == "runs" || $0.doing == "blocks" }
        var head = "\(program) (process \(process)): \(workers) of \(now.workers.count) workers have a closure"
        if now.waitsForGroups > 0 { head += now.waitsForGroups == 1 ? ", 1 waits for a group" : ", \(now.waitsForGroups) wait for groups" }
        let tail = "keys: q quits, f freezes, p b l sort queues by pending, busy, label" + (isFrozen ? "  [frozen]" : "")
        let room = max(0, height - 5 - now.pools.count - 4)
        let queueRows = Array(queueTable.prefix(1 + max(1, room / 2, room - now.workers.count)))
        let lines = [head, ""] + poolTable + [""] + queueRows + [""] + workerTable.prefix(1 + max(1, room - queueRows.count + 1))
        return Array(lines.prefix(max(1, height - 1))) + [tail]
    }

    private static func number(_ rate: Double) -> String {
        rate >= 1e6 ? "\(Double(Int(rate / 1e4)) / 100) M" : rate >= 1e4 ? "\(Int(rate / 1e3)) k" : "\(Int(rate.rounded()))"
    }

    private var poolTable: [String] {
        let rows = now.pools.indices.map { number in
            let pool = now.pools[number]
            return [
                pool.name, "\(pool.workers)", "\(pool.spares) (most \(pool.mostSpares))", Self.number(rate({ $0.executed }, of: number)),
                Self.number(rate({ $0.steals }, of: number)), Self.number(rate({ $0.parks }, of: number)), "\(pool.waiting)",
                "\(pool.timers)", pool.late > 0 ? TraceReport.time(pool.late) : "-",
            ]
        }
        let titles = ["scheduler", "workers", "spares", "closures/s", "steals/s", "parks/s", "waiting", "timers", "late by"]
        return TextTable(titles: titles, rows: rows).lines
    }

    private var queueTable: [String] {
        let rows = queues.map { queue in
            [
                queue.label.isEmpty ? "-" : queue.label, "\(queue.pending)", "\(queue.running)",
                queue.width == 0 ? "-" : "\(queue.width)", queue.busy > 0 ? TraceReport.time(queue.busy) : "-",
                queue.isSuspended ? "suspended" : queue.isActive ? "" : "inactive",
            ]
        }
        let titles = ["queue (\(now.allQueues))", "pending", "running", "width", "busy for", ""]
        return TextTable(titles: titles, rows: rows).lines
    }

    private var workerTable: [String] {
        let order = ["blocks": 0, "runs": 1, "idle": 2, "spare": 3]
        let sorted = now.workers.sorted { (order[$0.doing] ?? 4, $0.pool, $0.index) < (order[$1.doing] ?? 4, $1.pool, $1.index) }
        let rows = sorted.map { worker in
            let waits = worker.waitsFor.isEmpty ? "" : worker.waitsFor + (worker.waitsAt.isEmpty ? "" : " \"\(worker.waitsAt)\"")
            return [
                "\(now.pools.indices.contains(worker.pool) ? now.pools[worker.pool].name : "")-\(worker.index)", "\(worker.thread)",
                worker.processor.map(String.init) ?? "-", worker.doing, worker.queue,
                worker.time > 0 && worker.doing != "idle" && worker.doing != "spare" ? TraceReport.time(worker.time) : "-", waits,
            ]
        }
        return TextTable(titles: ["worker", "thread", "CPU", "does", "queue", "for", "waits"], rows: rows).lines
    }

    // MARK: JSON

    /// One object. Times are nanoseconds, rates are per second.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self) + "\n"
    }

    private struct Document: Encodable {
        struct Scheduler: Encodable {
            var name: String
            var workers, spares, mostSpares: Int
            var closures, waiting, timers, lateBy: UInt64
            var closuresPerSecond, stealsPerSecond, parksPerSecond: Double
        }
        struct Worker: Encodable {
            var scheduler, index: Int
            var thread: Int32
            var cpu: Int?
            var does, queue, waits, waitsAt: String
            var time, closures: UInt64
        }
        struct Queue: Encodable {
            var scheduler: Int
            var label: String
            var pending, running, busy: UInt64
            var width: Int
            var isSuspended, isActive: Bool
        }

        var program: String
        var process: Int32
        var schedulers: [Scheduler]
        var workers: [Worker]
        var queues: [Queue]
        var allQueues, waitsForGroups: Int

        init(_ view: TopView) {
            program = view.program
            process = view.process
            schedulers = view.now.pools.indices.map { number in
                let pool = view.now.pools[number]
                return Scheduler(
                    name: pool.name, workers: pool.workers, spares: pool.spares, mostSpares: pool.mostSpares,
                    closures: pool.executed, waiting: pool.waiting, timers: pool.timers, lateBy: pool.late,
                    closuresPerSecond: view.rate({ $0.executed }, of: number), stealsPerSecond: view.rate({ $0.steals }, of: number),
                    parksPerSecond: view.rate({ $0.parks }, of: number))
            }
            workers = view.now.workers.map { worker in
                Worker(
                    scheduler: worker.pool, index: worker.index, thread: worker.thread, cpu: worker.processor, does: worker.doing,
                    queue: worker.queue, waits: worker.waitsFor, waitsAt: worker.waitsAt, time: worker.time, closures: worker.executed)
            }
            queues = view.queues.map { queue in
                Queue(
                    scheduler: queue.pool, label: queue.label, pending: queue.pending, running: queue.running, busy: queue.busy,
                    width: queue.width, isSuspended: queue.isSuspended, isActive: queue.isActive)
            }
            allQueues = view.now.allQueues
            waitsForGroups = view.now.waitsForGroups
        }
    }
}
