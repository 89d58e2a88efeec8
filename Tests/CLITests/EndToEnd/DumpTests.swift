#if CLI
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("dump", .serialized, .timeLimit(.minutes(10)))
struct DumpCommandTests {
    /// Calls `body` with the number of a process that runs closures of a second, once it has workers.
    private func withProcess(_ environment: [String] = [], _ body: (String) throws -> Void) throws {
        var command = Command.overdrive(["run", "-j2", "sleep", ":::"] + Array(repeating: "1", count: 100))
        command.environment = environment
        let running = try command.start()
        defer {
            running.send(SIGTERM)
            _ = try? running.wait()
        }
        try #require(eventually { (try? Command.overdrive(["dump", "\(running.process)"]).run().text.contains("worker 0")) == true })
        try body("\(running.process)")
    }

    @Test("shows the schedulers of a process that publishes a page, and of one that does not", arguments: [["OVERDRIVE_TOP=1"], []])
    func shows(environment: [String]) throws {
        try withProcess(environment) { process in
            let text = try Command.overdrive(["dump", process]).run()
            #expect(text.status == 0 && text.lines.first?.hasPrefix("Scheduler \"") == true, "\(text)")
            #expect(text.lines.contains { $0.hasPrefix("  worker 0 (thread ") }, "\(text)")
            let outcome = try Command.overdrive(["dump", process, "--json"]).run()
            let object = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any], "\(outcome)")
            let schedulers = try #require(object["schedulers"] as? [[String: Any]])
            let workers = try #require(schedulers.first?["workers"] as? [[String: Any]])
            #expect(object["process"] as? Int == Int(process) && !workers.isEmpty)
            #expect(workers.allSatisfy { $0["thread"] is Int && $0["does"] is String }, "\(outcome)")
        }
    }

    @Test("shows a process that is stopped")
    func stopped() throws {
        try withProcess { process in
            kill(Int32(process)!, SIGSTOP)
            let text = try Command.overdrive(["dump", process]).run()
            kill(Int32(process)!, SIGCONT)
            #expect(text.status == 0 && text.text.contains("worker 0"), "\(text)")
        }
    }

    @Test("refuses a process without a scheduler, one that does not exist, and no number")
    func refusals() throws {
        let sleeper = try Command("sleep", ["60"]).start()
        defer {
            sleeper.send(SIGKILL)
            _ = try? sleeper.wait()
        }
        let program = URL(fileURLWithPath: "/proc/\(sleeper.process)/comm")  // `sleep` once it has been executed
        try #require(eventually { (try? String(contentsOf: program, encoding: .utf8)) == "sleep\n" })
        try Command.overdrive(["dump", "\(sleeper.process)"]).run().expectRefusal(66, saying: "dump: the process has no scheduler (\(sleeper.process)).")
        try Command.overdrive(["dump", "2147483632"]).run().expectRefusal(66, saying: "dump: no process has this number")
        try Command.overdrive(["dump", "0"]).run().expectRefusal(64, saying: "at least 1")
    }
}
#endif
