// Owns the dumps of another process, for the command. It reads the process's page or its memory, and never stops it.

internal import CScheduler

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The state of another process's schedulers.
package struct ForeignDump {
    /// Why a process cannot be read, in one sentence.
    package struct Refusal: Error {
        package let sentence: String
    }

    package let schedulers: [Scheduler.Dump]

    /// Reads a process. It needs no preparation if the kernel allows reads of its memory.
    package init(of process: Int32) throws(Refusal) {
        var handle: OpaquePointer?
        let sentence = unsafe Self.sentence { unsafe handle = od_top_peek(process, $0, $1) }
        guard let handle = unsafe handle else { throw Refusal(sentence: sentence) }
        defer { unsafe od_top_close(handle) }
        let first = try unsafe Self.read(handle)
        var second: [Raw]?
        schedulers = try first.rows.map { (raw) throws(Refusal) in
            let waits = Waits(of: raw.workers, at: raw.queues)
            // As in `dump()`: a circle counts if its waits last until a second read.
            if !waits.circles.isEmpty, second == nil { second = try unsafe Self.read(handle, after: first.taken).rows }
            let later = second?.first { $0.number == raw.number }?.workers ?? []
            return Scheduler.Dump(
                name: raw.name, workers: raw.workers, queues: raw.queues, queueCount: raw.queueCount, waiting: raw.waiting,
                deadlocks: waits.circles.isEmpty ? [] : waits.circles(lastingIn: later), waitChains: waits.chains)
        }
    }

    private struct Raw {
        let number: Int, name: String, waiting, queueCount: Int
        let workers: [Scheduler.Dump.Worker], queues: [Scheduler.Dump.Queue]
    }

    /// - Parameter last: The time of the snapshot that the new one must follow.
    private static func read(_ handle: OpaquePointer, after last: UInt64 = 0) throws(Refusal) -> (taken: UInt64, rows: [Raw]) {
        var view = unsafe od_top_view(), tries = 0
        repeat {
            var isRead = false
            let sentence = unsafe sentence { unsafe isRead = od_top_read(handle, &view, $0, $1) }
            guard isRead else { throw Refusal(sentence: sentence) }
            tries += 1
            // A page is renewed every 200 ms.
            if unsafe view.taken_ns == last { usleep(50_000) }
        } while unsafe view.taken_ns == last && tries < 40
        let workers = unsafe UnsafeBufferPointer(start: view.workers, count: Int(view.worker_count))
        let queues = unsafe UnsafeBufferPointer(start: view.queues, count: Int(view.queue_count))
        let rows = unsafe (0..<Int(view.pool_count)).map { number in
            let pool = unsafe view.pools[number]
            return unsafe Raw(
                number: number, name: string(of: pool.name), waiting: Int(clamping: pool.waiting), queueCount: Int(pool.queues),
                workers: workers.filter { Int($0.pool) == number }.map(Scheduler.Dump.Worker.init),
                queues: queues.filter { Int($0.pool) == number }.map(Scheduler.Dump.Queue.init))
        }
        return unsafe (view.taken_ns, rows)
    }

    private static func sentence(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Void) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
            unsafe room.initialize(repeating: 0)
            unsafe call(room.baseAddress, room.count)
            return unsafe room.baseAddress.map { unsafe String(cString: $0) } ?? ""
        }
    }
}

extension Scheduler.Dump.Worker {
    fileprivate init(_ row: od_top_worker) {
        index = Int(row.index)
        threadID = Int(row.thread_id)
        node = Int(row.node)
        executed = Int(clamping: row.executed)
        waiting = Int(clamping: row.waiting)
        let label = string(of: row.queue), at = string(of: row.waits_at), kind = string(of: row.waits_for)
        switch row.doing {
        case OD_WORKER_RUNS.rawValue: activity = .runs(queue: label, atLeast: .nanoseconds(Int64(clamping: row.running_ns)))
        case OD_WORKER_BLOCKS.rawValue: activity = .blocks(queue: label, atLeast: .nanoseconds(Int64(clamping: row.waiting_ns)))
        case OD_WORKER_SPARE.rawValue: activity = .spare
        default: activity = .idle
        }
        let isInClosure = row.doing == OD_WORKER_RUNS.rawValue || row.doing == OD_WORKER_BLOCKS.rawValue
        atMost = isInClosure ? .nanoseconds(Int64(clamping: row.at_most_ns)) : nil
        waitsAt = at.isEmpty ? nil : at
        waitsAtID = UInt(row.waits_at_id)
        queueID = UInt(row.queue_id)
        waitsFor = kind.isEmpty ? nil : kind + (at.isEmpty ? "" : " \"\(at)\"")
    }
}

extension Scheduler.Dump.Queue {
    fileprivate init(_ row: od_top_queue) {
        id = UInt(row.id)
        label = string(of: row.label)
        qos = TaskQueue.QoS(rawValue: Int32(clamping: row.band)) ?? .default
        maxConcurrentTaskCount = row.width == Int32(OD_UNLIMITED) ? TaskQueue.unlimited : Int(row.width)
        isSuspended = row.suspended != 0
        isActive = row.active != 0
        pending = Int(clamping: row.pending)
        running = Int(clamping: row.running)
        // Another process's tasks are objects of Swift, which no page and no reader has.
        (waitingTasks, unfinishedTasks, asynchronousTasks) = (0, 0, 0)
    }
}
