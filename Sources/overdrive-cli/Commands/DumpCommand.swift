#if CLI
internal import ArgumentParser
internal import FoundationEssentials
internal import OverdriveCore

/// `overdrive dump`.
struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints what a running program's workers and queues do, and who waits for whom.",
        discussion: """
            The text is that of Scheduler.dump(). The command reads the page of OVERDRIVE_TOP=1. Without a page it reads the \
            process's memory, as far as the kernel allows. The process may hang or be stopped.

            EXIT CODES: 0 printed; 64 wrong usage; 66 no such process, no scheduler, another version, or the kernel forbids the \
            reads; 74 the results could not be written.
            """
    )

    @Argument(help: ArgumentHelp("The number of the process.", valueName: "pid"))
    var process: Int32

    @Flag(help: "Prints one JSON object. Times are nanoseconds.")
    var json = false

    func validate() throws {
        guard process > 0 else { throw ValidationError("the number of a process is at least 1 (\(process)); name one that runs") }
    }

    func run() throws {
        let dump: ForeignDump
        do {
            dump = try ForeignDump(of: process)
        } catch {
            StandardError.say("dump: " + error.sentence)
            throw ExitCode(ExitStatus.noInput.rawValue)
        }
        try TopCommand.write(json ? try Document(process, dump).text() : text(of: dump))
    }

    /// The dumps, with control characters of labels escaped.
    private func text(of dump: ForeignDump) -> String {
        let lines = dump.schedulers.flatMap { $0.description.split(separator: "\n") }
        return lines.map { String(decoding: Bytes($0.utf8).printable, as: UTF8.self) + "\n" }.joined()
    }

    /// The object of `--json`.
    private struct Document: Encodable {
        struct Worker: Encodable {
            var index, thread, node: Int
            var does: String
            var queue, waits: String?
            var time: Int?
            var closures, waiting: Int
        }
        struct Queue: Encodable {
            var label, qos: String
            /// Null for no limit.
            var width: Int?
            var suspended, active: Bool
            var pending, running: Int
        }
        struct Scheduler: Encodable {
            var name: String
            var waiting, queueCount: Int
            var workers: [Worker], queues: [Queue]
            var deadlocks, chains: [[Int]]
        }
        var process: Int32
        var schedulers: [Scheduler]

        init(_ process: Int32, _ dump: ForeignDump) {
            self.process = process
            schedulers = dump.schedulers.map { dump in
                Scheduler(
                    name: dump.name, waiting: dump.waiting, queueCount: dump.queueCount, workers: dump.workers.map(Self.worker),
                    queues: dump.queues.map(Self.queue), deadlocks: dump.deadlocks, chains: dump.waitChains)
            }
        }

        private static func worker(_ worker: OverdriveCore.Scheduler.Dump.Worker) -> Worker {
            var row = Worker(
                index: worker.index, thread: worker.threadID, node: worker.node, does: "idle", waits: worker.waitsFor,
                closures: worker.executed, waiting: worker.waiting)
            switch worker.activity {
            case .idle: break
            case .spare: row.does = "spare"
            case .runs(let queue, let time): (row.does, row.queue, row.time) = ("runs", queue, nanoseconds(time))
            case .blocks(let queue, let time): (row.does, row.queue, row.time) = ("blocks", queue, nanoseconds(time))
            }
            return row
        }

        private static func nanoseconds(_ time: Duration) -> Int { Int(time / .nanoseconds(1)) }

        private static func queue(_ queue: OverdriveCore.Scheduler.Dump.Queue) -> Queue {
            let width = queue.maxConcurrentTaskCount
            return Queue(
                label: queue.label, qos: "\(queue.qos)", width: width == TaskQueue.unlimited ? nil : width,
                suspended: queue.isSuspended, active: queue.isActive, pending: queue.pending, running: queue.running)
        }

        func text() throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
        }
    }
}
#endif
