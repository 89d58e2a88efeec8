import Foundation
import FoundationXML
import OverdriveApp
import TestSupport
import Testing

@Suite("The report")
struct ReportTests {
    private func report() async throws -> AppReport {
        let a = AppTask("a <quick> & \"odd\"") {}
        let b = AppTask("b") { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(5)) }
        let c = AppTask("c", dependencies: [a, b]) {}
        let app = try await AppTasks.booted([a, b, c])
        #expect(app.report.exitCode == nil && app.report.bootTime != nil)
        return await app.over()
    }

    @Test("has the times, who waited for whom, and the critical path")
    func entries() async throws {
        let report = try await report()
        #expect(report.tasks.map(\.dependencies) == [[], [], [0, 1]])
        #expect(report.criticalPath.map(\.task) == ["b", "c"])
        #expect(report.tasks[2].ready == report.tasks[1].ended)
        #expect(report.tasks.allSatisfy { ($0.started ?? .zero) >= $0.ready && ($0.ended ?? .zero) >= ($0.started ?? .zero) })
        #expect((report.bootTime ?? .zero) >= .milliseconds(5))
        let table = report.table
        #expect(table.contains("* c ") && table.contains("The critical path (*): b ") && table.contains("The boot took "))
        #expect(table.contains("a <quick> & \"odd\", b"))
        #expect(report.tasks.map(\.provider) == ["Provider", "Provider", "Provider"])
    }

    @Test("is told in one line: before the boot is over, after it, and after the end")
    func oneLine() async throws {
        let app = AppTasks.build([AppTask("a") {}])
        #expect("\(app.report)".hasPrefix("1 task, "))
        try await app.booted()
        #expect("\(app.report)".hasPrefix("1 task, booted in ") && "\(app.report)".hasSuffix(" ms"))
        let line = "\(await app.over())"
        #expect(line.contains(" ms, ended in ") && line.hasSuffix(" ms (the program asked for it), exit code 0"))
    }

    @Test("says in its one line what went wrong")
    func problemsLine() async throws {
        struct Full: Error, CustomStringConvertible { let description = "the disk is full" }
        let report = await AppTasks.build([AppTask("c") { throw Full() }, AppTask("d") {}]).ended()
        #expect("\(report)".hasPrefix("2 tasks, not booted, ended in "))
        #expect("\(report)".hasSuffix(" ms (the boot failed), exit code 1: the boot failed: \"c\" failed: the disk is full"))
        let task = AppTask("e") {}
        let stillborn = await AppTasks.build([task, task]).ended()
        #expect("\(stillborn)" == "0 tasks, not booted, ended in 0.00 ms (the boot failed), exit code 1: \(stillborn.failure!)")
    }

    @Test("has a trace that is JSON, with a slice for each boot and stop, and an arrow for each dependency")
    func trace() async throws {
        let report = try await report()
        let json = try JSONSerialization.jsonObject(with: Data(report.trace.utf8)) as? [String: Any]
        let events = try #require(json?["traceEvents"] as? [[String: Any]])
        func count(_ phase: String, _ category: String? = nil) -> Int {
            events.count { $0["ph"] as? String == phase && (category == nil || $0["cat"] as? String == category) }
        }
        #expect(count("X", "boot") == 3 && count("X", "stop") == 3)
        #expect(count("s") == 2 && count("f") == 2)
        let slice = try #require(events.first { $0["name"] as? String == "boot a <quick> & \"odd\"" })
        let (start, end) = (try #require(report.tasks[0].started), try #require(report.tasks[0].ended))
        for (key, time) in [("ts", start), ("dur", end - start)] {
            #expect(abs(try #require(slice[key] as? Double) - time / .microseconds(1)) < 0.002)
        }
    }

    @Test("has a picture that is XML, with a bar for each task")
    func picture() async throws {
        let picture = try await report().picture
        #expect(picture.contains(">a &lt;quick&gt; &amp; &quot;odd&quot;<"))
        let document = try XMLDocument(data: Data(picture.utf8))
        let bars = try document.nodes(forXPath: "//*[local-name()='rect'][@rx]")
        #expect(bars.count == 3)
    }

    @Test("has a picture of two hundred of many tasks, and of what the boot waited for; its table names four of these")
    func many() async throws {
        final class Silent: AppTask, @unchecked Sendable {}
        let long = (0..<210).map { _ in Silent() }
        let last = NoOpTask()
        last.name = "the last"
        for task in long { last.add(dependency: task) }
        let app = AppTasks.build(long + [last])
        #expect(eventually { app.report.tasks.dropLast().allSatisfy { $0.outcome == .booting } })
        try await AsyncTask<Never, Never>.sleep(for: .milliseconds(50))  // the last is shorter
        for task in long { task.setFinished() }
        try await app.booted()
        let report = await app.over()
        let document = try XMLDocument(data: Data(report.picture.utf8))
        // The last that it waited for is on the path, too, and may be among the two hundred or not.
        #expect([201, 202].contains(try document.nodes(forXPath: "//*[local-name()='rect'][@rx]").count))
        #expect(report.picture.contains(">the last<") && report.table.contains("   Silent, Silent, Silent, Silent, and 206 more\n"))
    }

    @Test("tells of events that were all refused, and of a task with a line feed in its name")
    func refusedAndOddlyNamed() async throws {
        let gate = Gate()
        let app = try await AppTasks.booted([AppTask("a\nb") {} stop: { gate.pass() }])
        app.end()
        app.post(AppSignal.hangup)
        gate.open()  // not over before that
        let report = await app.ended()
        #expect(report.table.contains("Events: 0 accepted, 0 delivered, 1 refused, 0 dropped."), "\(report.table)")
        #expect(report.trace.contains(#""a\nb""#))
    }

    @Test("is written to a folder, or says why not")
    func files() async throws {
        let report = try await report()
        let folder = try TemporaryFolder()
        #expect(report.write(to: folder.path) == nil)
        #expect(folder.text("boot.txt") == report.table && folder.text("boot.svg") == report.picture)
        #expect(folder.text("boot.json") == report.trace)
        #expect(report.write(to: "/proc/nowhere")?.hasPrefix("/proc/nowhere/boot.txt could not be written: ") == true)
        unlink("\(folder.path)/boot.txt")
        try #require(symlink("/dev/full", "\(folder.path)/boot.txt") == 0)
        #expect(report.write(to: folder.path)?.hasSuffix("/boot.txt could not be written: No space left on device") == true)
        // The report had been made when its note came, which nobody saw.
        let app = try await AppTasks.booted([], options: testOptions { $0.explanationFolder = "/proc/nowhere" })
        let notes = await app.over().notes
        #expect(notes.count == 1 && notes[0].hasPrefix("/proc/nowhere/boot.txt could not be written: "), "\(notes)")
    }
}
