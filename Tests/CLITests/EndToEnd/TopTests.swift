#if CLI
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("top", .serialized, .timeLimit(.minutes(10)))
struct TopTests {
    /// Calls `body` with the number of a process that runs closures of a second.
    private func withProcess(_ environment: [String], _ body: (String) throws -> Void) throws {
        var command = Command.overdrive(["run", "-j2", "sleep", ":::"] + Array(repeating: "1", count: 100))
        command.environment = environment
        let running = try command.start()
        defer {
            running.send(SIGTERM)
            _ = try? running.wait()
        }
        try body("\(running.process)")
    }

    /// Returns the output of `overdrive top` once the process publishes workers.
    private func top(_ process: String) throws -> Command.Outcome {
        var outcome = try Command.overdrive(["top", process, "--json"]).run()
        for _ in 0..<50 where !outcome.text.contains("\"thread\"") {
            usleep(100_000)
            outcome = try Command.overdrive(["top", process, "--json"]).run()
        }
        return outcome
    }

    @Test("shows workers, queues and schedulers as JSON and as text")
    func json() throws {
        try withProcess(["OVERDRIVE_TOP=1"]) { process in
            let outcome = try top(process)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any], "\(outcome)")
            #expect(object["process"] as? Int == Int(process) && object["program"] as? String == "overdrive")
            let workers = try #require(object["workers"] as? [[String: Any]])
            #expect(!workers.isEmpty && workers.allSatisfy { $0["thread"] is Int } && workers.contains { $0["cpu"] is Int }, "\(outcome)")
            #expect(object["queues"] is [Any], "\(outcome)")
            #expect((object["schedulers"] as? [[String: Any]])?.isEmpty == false)
            let text = try Command.overdrive(["top", process]).run()
            #expect(text.status == 0 && text.text.contains("closures/s") && text.text.contains("worker"), "\(text)")
        }
    }

    @Test("on a terminal obeys its keys and leaves the terminal as it was", .enabled(if: access("/usr/bin/tmux", X_OK) == 0))
    func terminal() throws {
        let tree = try TemporaryTree(), socket = tree.path + "/tmux"
        func tmux(_ arguments: String...) throws -> String { try Command("/usr/bin/tmux", ["-S", socket] + arguments).run().text }
        func screen(has text: String) throws -> Bool {
            for _ in 0..<50 {
                if try tmux("capture-pane", "-p").contains(text) { return true }
                usleep(100_000)
            }
            return false
        }
        try withProcess(["OVERDRIVE_TOP=1"]) { process in
            _ = try top(process)
            _ = try tmux("new-session", "-d", "-x", "100", "-y", "30", "sh")
            defer { _ = try? tmux("kill-server") }
            _ = try tmux("send-keys", "\(Command.overdrivePath) top \(process); echo left=$?; stty -a | grep -o ' echo '", "Enter")
            #expect(try screen(has: "closures/s"))
            _ = try tmux("send-keys", "f")
            #expect(try screen(has: "[frozen]"))
            _ = try tmux("send-keys", "b", "q")
            let isLeft = try screen(has: "left=0\n echo"), pane = try tmux("capture-pane", "-p")
            #expect(isLeft, "\(pane)")
        }
    }

    @Test("refuses a process that publishes no page, one that does not exist, and no number")
    func refusals() throws {
        try withProcess([]) { process in
            try Command.overdrive(["top", process]).run().expectRefusal(66, saying: "publishes no page (\(process)). Start it with OVERDRIVE_TOP=1.")
        }
        try Command.overdrive(["top", "2147483632"]).run().expectRefusal(66, saying: "no process has this number")
        try Command.overdrive(["top", "0"]).run().expectRefusal(64, saying: "at least 1")
        try Command.overdrive(["top", "server"]).run().expectRefusal(64)
    }
}
#endif
