#if CLI
import Foundation
import Glibc
import OverdriveCore
import TestSupport
import Testing

@testable import overdrive_cli

@Suite("A trace", .serialized, .timeLimit(.minutes(10)))
struct TraceTests {
    private func report(of path: String) throws -> TraceReport {
        let descriptor = open(path, O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes: [UInt8] = [], part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &part, part.count), count > 0 { bytes += part.prefix(count) }
        return try #require(bytes.withUnsafeBytes { TraceReport($0) })
    }

    private func spin(_ time: Duration) {
        let until = ContinuousClock.now + time
        while ContinuousClock.now < until {}
    }

    @Test("names the serial queue that keeps workers idle, and counts its closures")
    func serialQueue() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace"
        let scheduler = try Scheduler(workers: 2, name: "traced")
        let log = TaskQueue.serial(label: "planted log", scheduler: scheduler)
        try Scheduler.trace(to: path)
        let pages = TaskQueue.concurrent(label: "pages", scheduler: scheduler)
        for number in 0..<100 {
            pages.async {
                spin(.microseconds(100))
                log.async { spin(.microseconds(1000 + number)) }
            }
        }
        pages.waitUntilAllTasksAreFinished()
        log.waitUntilAllTasksAreFinished()
        #expect(Scheduler.endTrace())
        #expect(!Scheduler.endTrace())
        let report = try report(of: path)
        let label = try #require(report.labels.first { $0.name == "planted log" })
        #expect(label.count == 100 && label.waits.count == 100 && label.pending == 0)
        #expect(label.run >= 100_000_000)
        #expect(report.findings.contains { $0.contains("idle") && $0.contains("\"planted log\"") }, "\(report.text)")
        #expect(label.peak == 1 && label.reason == .serial && label.runs.count == 100)
        #expect(report.longest.count == 5 && report.longest[0].time >= 1_000_000)
        #expect(report.notes["lost"] == 0)
        try checkChrome(path, tree.path + "/run.json", closures: 200)
    }

    /// Converts the trace. Each slice ends, each arrow has both ends, and time never goes back.
    private func checkChrome(_ trace: String, _ file: String, closures: Int) throws {
        struct Document: Decodable {
            struct Event: Decodable {
                var ph: String, ts: Double, name: String?, cat: String?
            }
            var traceEvents: [Event]
        }
        let run = try Command.overdrive(["trace", "convert", trace, "-o", file, "--format", "chrome"]).run()
        #expect(run.status == 0 && run.output == [], "\(run)")
        let events = try JSONDecoder().decode(Document.self, from: Data(contentsOf: URL(filePath: file))).traceEvents
        func count(_ phase: String, _ category: String? = nil) -> Int {
            events.count { $0.ph == phase && (category == nil || $0.cat == category) }
        }
        #expect(count("B", "closure") == closures && count("B") == count("E"))
        #expect(count("s") == closures && count("f") == closures)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.ts <= $1.ts })
        try Command.overdrive(["trace", "convert", trace, "-o", file, "--format", "chrome"]).run()
            .expectRefusal(74, saying: "cannot create the file")
        try Command.overdrive(["trace", "convert", trace, "-o", file]).run().expectRefusal(64, saying: "already")
    }

    @Test("has closures that submit each other as its critical path, and a page that escapes labels")
    func criticalPath() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace", page = tree.path + "/run.html"
        let scheduler = try Scheduler(workers: 2, name: "traced")
        let steps = TaskQueue.serial(label: "<b>steps & \"more\"", scheduler: scheduler)
        func step(_ number: Int) {
            spin(.milliseconds(1))
            if number < 5 { steps.async { step(number + 1) } }
        }
        try Scheduler.trace(to: path)
        steps.async { step(1) }
        steps.waitUntilAllTasksAreFinished()
        #expect(Scheduler.endTrace())
        let report = try report(of: path), critical = report.paths.critical
        #expect(critical.steps == 5 && critical.parts.values.reduce(0) { $0 + $1.run } >= 5_000_000, "\(report.text)")
        #expect(try Command.overdrive(["trace", "report", path, "--html", page]).run().status == 0)
        let html = try String(decoding: Data(contentsOf: URL(filePath: page)), as: UTF8.self)
        #expect(html.contains("&lt;b&gt;steps &amp; &quot;more&quot;") && !html.contains("<b>") && html.contains("<rect"))
        let json = try Command.overdrive(["trace", "report", path, "--json"]).run()
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
        #expect((object["criticalPath"] as? [String: Any])?["closures"] as? Int == 5)
    }

    @Test("names no queue whose waiting closures were cancelled")
    func cancelled() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace"
        let scheduler = try Scheduler(workers: 2, name: "traced")
        let held = TaskQueue.serial(label: "cancelled", initiallyInactive: true, scheduler: scheduler)
        let other = TaskQueue.concurrent(label: "other", scheduler: scheduler)
        try Scheduler.trace(to: path)
        for number in 0..<50 { held.async { spin(.microseconds(number)) } }
        held.cancelAll()
        for number in 0..<100 { other.async { spin(.microseconds(500 + number)) } }
        other.waitUntilAllTasksAreFinished()
        #expect(Scheduler.endTrace())
        held.activate()
        let report = try report(of: path)
        #expect(report.labels.allSatisfy { $0.pending == 0 })
        #expect(!report.findings.contains { $0.contains("\"cancelled\"") }, "\(report.text)")
    }

    @Test("names the closures that block their workers")
    func blockingClosures() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace"
        let scheduler = try Scheduler(workers: 2, name: "traced")
        let requests = TaskQueue.concurrent(label: "requests", scheduler: scheduler)
        let database = TaskQueue.serial(label: "database", scheduler: scheduler)
        try Scheduler.trace(to: path)
        for number in 0..<40 { requests.async { database.sync { spin(.microseconds(1000 + number)) } } }
        requests.waitUntilAllTasksAreFinished()
        #expect(Scheduler.endTrace())
        let report = try report(of: path)
        #expect(report.findings[0].hasPrefix("Closures of \"requests\" blocked"), "\(report.text)")
    }

    @Test("names the closures that are too small")
    func smallClosures() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace"
        let scheduler = try Scheduler(workers: 2, name: "traced")
        let pixels = TaskQueue.concurrent(label: "pixels", scheduler: scheduler)
        try Scheduler.trace(to: path)
        for number in 0..<20_000 { pixels.async { spin(.nanoseconds(300 + number % 2)) } }
        pixels.waitUntilAllTasksAreFinished()
        #expect(Scheduler.endTrace())
        let report = try report(of: path)
        #expect(report.findings.contains { $0.contains("closures of \"pixels\" are too small") }, "\(report.text)")
    }

    @Test("into a file that exists is refused with one sentence")
    func existing() throws {
        let error = #expect(throws: Scheduler.TraceError.self) { try Scheduler.trace(to: "/dev/null") }
        #expect(error?.description.hasPrefix("Scheduler.trace(to:): cannot create the file (/dev/null: ") == true, "\(String(describing: error))")
    }

    @Test("of a program is written by overdrive trace and read by overdrive trace report")
    func program() throws {
        let tree = try TemporaryTree(), path = tree.path + "/run.pftrace"
        let run = try Command.overdrive(["trace", "-o", path + ":64M", "--", Command.overdrivePath, "checksum", "/etc/hostname"]).run()
        #expect(run.status == 0 && run.lines.count == 1, "\(run)")
        let report = try Command.overdrive(["trace", "report", path]).run()
        #expect(report.status == 0 && report.lines.first?.hasPrefix("overdrive (process ") == true, "\(report)")
    }

    @Test("that cannot be read, or is none, is refused")
    func refusals() throws {
        try Command.overdrive(["trace", "report", "/nowhere/t"]).run().expectRefusal(66, saying: "/nowhere/t")
        try Command.overdrive(["trace", "report", "/etc/hostname"]).run().expectRefusal(65, saying: "no trace")
        try Command.overdrive(["trace", "report", "/dev/null"]).run().expectRefusal(65, saying: "no trace")
        try Command.overdrive(["trace", "convert", "/nowhere/t", "-o", "/tmp/t"]).run().expectRefusal(66, saying: "/nowhere/t")
        try Command.overdrive(["trace", "convert", "/etc/hostname", "-o", "/tmp/t", "--format", "chrome"]).run().expectRefusal(65, saying: "no trace")
        try Command.overdrive(["trace", "-o", "/tmp/t"]).run().expectRefusal(64, saying: "after --")
        try Command.overdrive(["trace", "-o", "/tmp/t", "--", "/nowhere/p"]).run().expectRefusal(71, saying: "/nowhere/p")
    }

    @Test("of a running process is written until its limit, or until a signal ends the command")
    func runningProcess() throws {
        let tree = try TemporaryTree(), limited = tree.path + "/limited", ended = tree.path + "/ended-%p"
        var command = Command.overdrive(["run", "-j2", "sleep", ":::"] + Array(repeating: "0.1", count: 1_000))
        command.environment = ["OVERDRIVE_TOP=1"]
        let running = try command.start()
        defer {
            running.send(SIGTERM)
            _ = try? running.wait()
        }
        let process = "\(running.process)"
        try #require(eventually { (try? Command.overdrive(["top", process, "--json"]).run().status) == 0 })
        let first = try Command.overdrive(["trace", "--pid", process, "-o", limited + ":1s"]).run()
        #expect(first.status == 0 && first.seconds > 0.9, "\(first)")
        #expect(try report(of: limited).text.contains("process \(process)"))
        try Command.overdrive(["trace", "--pid", process, "-o", limited + ":1s"]).run().expectRefusal(74, saying: "cannot create the file")

        let second = try Command.overdrive(["trace", "--pid", process, "-o", ended]).start()
        let path = tree.path + "/ended-" + process
        try #require(eventually { access(path, F_OK) == 0 })
        try Command.overdrive(["trace", "--pid", process, "-o", limited + "2"]).run().expectRefusal(66, saying: "another command traces the process")
        usleep(500_000)  // the program has written some events
        second.send(SIGINT)
        let outcome = try second.wait()
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try report(of: path).text.contains("process \(process)"))
    }

    @Test("of a process that publishes no page, or of none, is refused")
    func noProcess() throws {
        let sleeper = try Command("sleep", ["60"]).start()
        defer {
            sleeper.send(SIGKILL)
            _ = try? sleeper.wait()
        }
        let process = "\(sleeper.process)"
        try Command.overdrive(["trace", "--pid", process, "-o", "/tmp/t"]).run().expectRefusal(66, saying: "publishes no page (\(process)). Start it with OVERDRIVE_TOP=1.")
        try Command.overdrive(["trace", "--pid", "2147483632", "-o", "/tmp/t"]).run().expectRefusal(66, saying: "no process has this number")
        try Command.overdrive(["trace", "--pid", "0", "-o", "/tmp/t"]).run().expectRefusal(64, saying: "at least 1")
        try Command.overdrive(["trace", "--pid", process, "-o", "/tmp/t", "--", "true"]).run().expectRefusal(64, saying: "or --pid")
    }
}
#endif
