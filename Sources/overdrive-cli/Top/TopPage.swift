internal import CScheduler
internal import Glibc

/// One sentence that tells why a page cannot be read.
struct TopRefusal: Error {
    let sentence: String
}

/// Reads the page that a process publishes.
final class TopPage {
    private let handle: OpaquePointer
    let process: Int32
    /// The name of the process's program.
    let program: String

    init(of process: Int32) throws(TopRefusal) {
        var handle: OpaquePointer?
        let sentence = Self.sentence { message, capacity in
            handle = od_top_open(process, message, capacity)
        }
        guard let handle else { throw TopRefusal(sentence: "top: " + sentence) }
        self.handle = handle
        self.process = process
        program = Self.firstLine(of: "/proc/\(process)/comm") ?? "process"
    }

    deinit { od_top_close(handle) }

    /// Returns the last snapshot.
    func read() throws(TopRefusal) -> TopSnapshot {
        var view = od_top_view(), isRead = false
        let sentence = Self.sentence { message, capacity in
            isRead = od_top_read(handle, &view, message, capacity)
        }
        guard isRead else { throw TopRefusal(sentence: "top: " + sentence) }
        return TopSnapshot(view) { processor(ofThread: $0) }
    }

    /// The CPU on which the thread ran last.
    private func processor(ofThread thread: Int32) -> Int? {
        guard let line = Self.firstLine(of: "/proc/\(process)/task/\(thread)/stat") else { return nil }
        // The name in parentheses may have any character. The CPU is field 39, and field 3 follows the name.
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        return fields.count > 37 ? Int(fields[37]) : nil
    }

    private static func firstLine(of path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 1024)
        let count = fread(&text, 1, text.count, file)
        let line = text.prefix(count).prefix { $0 != 10 }
        return count > 0 ? String(decoding: Bytes(line).printable, as: UTF8.self) : nil
    }

    private static func sentence(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Void) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
            room.initialize(repeating: 0)
            call(room.baseAddress, room.count)
            return room.baseAddress.map { String(cString: $0) } ?? ""
        }
    }
}

/// A snapshot of a process's schedulers.
struct TopSnapshot {
    struct Pool {
        var name: String
        var executed, stolen, steals, parks, waiting, timers, late: UInt64
        var workers, active, spares, mostSpares: Int
    }
    struct Worker {
        var pool, index: Int
        var thread: Int32
        var processor: Int?
        var doing: String
        var queue, waitsFor, waitsAt: String
        var time: UInt64
        var executed: UInt64
    }
    struct Queue {
        var pool: Int
        var label: String
        var width: Int
        var isSuspended, isActive: Bool
        var pending, running, busy: UInt64
    }

    var taken: UInt64
    var pools: [Pool], workers: [Worker], queues: [Queue]
    var allQueues: Int
    /// The number of workers whose closures wait for a group.
    var waitsForGroups: Int { workers.count { $0.waitsFor == "for a group" } }

    init(_ view: od_top_view, processor: (Int32) -> Int?) {
        taken = view.taken_ns
        allQueues = Int(view.all_queues)
        pools = []
        for row in UnsafeBufferPointer(start: view.pools, count: Int(view.pool_count)) { pools.append(Self.pool(row)) }
        workers = []
        for row in UnsafeBufferPointer(start: view.workers, count: Int(view.worker_count)) {
            workers.append(Self.worker(row, processor(row.thread_id)))
        }
        queues = []
        for row in UnsafeBufferPointer(start: view.queues, count: Int(view.queue_count)) { queues.append(Self.queue(row)) }
    }

    private static func pool(_ row: od_top_pool) -> Pool {
        Pool(
            name: text(row.name), executed: row.executed, stolen: row.stolen, steals: row.steals, parks: row.parks,
            waiting: row.waiting, timers: row.timers, late: row.late_ns, workers: Int(row.workers), active: Int(row.active),
            spares: Int(row.spares), mostSpares: Int(row.most_spares))
    }

    private static func worker(_ row: od_top_worker, _ processor: Int?) -> Worker {
        let names: [String] = ["idle", "runs", "blocks", "spare"]
        let doing: String = names[min(Int(row.doing), names.count - 1)]
        let time: UInt64 = row.doing == 2 ? row.waiting_ns : row.running_ns
        let queue: String = text(row.queue), waitsFor: String = text(row.waits_for), waitsAt: String = text(row.waits_at)
        return Worker(
            pool: Int(row.pool), index: Int(row.index), thread: row.thread_id, processor: processor, doing: doing, queue: queue,
            waitsFor: waitsFor, waitsAt: waitsAt, time: time, executed: row.executed)
    }

    private static func queue(_ row: od_top_queue) -> Queue {
        let label: String = text(row.label), isSuspended: Bool = row.suspended != 0, isActive: Bool = row.active != 0
        return Queue(
            pool: Int(row.pool), label: label, width: Int(row.width), isSuspended: isSuspended, isActive: isActive,
            pending: row.pending, running: row.running, busy: row.busy_ns)
    }

    /// The text of a row's field, with control characters escaped.
    private static func text<Field>(_ field: Field) -> String {
        withUnsafeBytes(of: field) { String(decoding: Bytes($0.prefix { $0 != 0 }).printable, as: UTF8.self) }
    }
}
