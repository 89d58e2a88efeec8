import Logging
import Overdrive
import OverdriveLogging
import Synchronization
import Testing

@Suite("Logging", .serialized, .timeLimit(.minutes(1)))
struct LoggingTests {
    @Test("takes the library's warnings, as sentences of the level that was asked for")
    func warnings() async throws {
        let lines = Lines()
        Scheduler.logWarnings(to: lines.logger, at: .notice)
        defer { Scheduler.onWarning(nil) }
        let forgotten = Task.inline { 1 }
        forgotten.name = "forgotten"
        let waiting = AsyncTask { try await forgotten.value }
        while lines.all.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
        #expect(lines.all.first?.hasPrefix("notice: Task.wait: the task is in no queue") == true, "\(lines.all)")
        forgotten.start()
        #expect(try await waiting.value == 1)
    }

    @Test("says how tasks go, with number, name and duration")
    func tasks() async throws {
        let lines = Lines()
        let queue = TaskQueue.serial(label: "logged")
        queue.timesTasks = true
        let good = Task.inline { 1 }
        let bad = Task.inline { () throws -> Int in throw Offline() }.retry(1)
        bad.name = "bad"
        let never = Task.inline { 3 }
        for task in [good, bad, never] { task.add(observer: TaskLogging(to: lines.logger)) }
        queue.suspend()
        for task in [good, bad, never] { queue.add(task: task) }
        never.cancel()
        queue.resume()
        await queue.drained()
        let (first, second) = ("Task<Int> \(good.taskIdentifier) -", "Task<Int> \(bad.taskIdentifier) bad")
        #expect(lines.all.filter { $0.contains(first) } == ["debug: task starts \(first)", "debug: task succeeded \(first) timed"])
        let attempts = lines.all.filter { $0.contains(second) }
        #expect(attempts.filter { $0.hasPrefix("debug: task starts") }.count == 2)
        #expect(attempts.contains { $0.hasPrefix("debug: task failed and will be attempted again") })
        #expect(attempts.last == "error: task failed: Offline() \(second) timed")
        #expect(lines.all.contains("debug: task cancelled Task<Int> \(never.taskIdentifier) -"))
    }
}

private struct Offline: Error {}

/// What was logged.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test") { [self] _ in Handler(lines: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            var text = "\(event.level): \(event.message)"
            if let metadata = event.metadata {
                text += " \(metadata["task"] ?? "") \(metadata["task-id"] ?? "") \(metadata["task-name"] ?? "-")"
                if metadata["seconds"] != nil { text += " timed" }
            }
            lines.lines.withLock { $0.append(text) }
        }
    }
}
