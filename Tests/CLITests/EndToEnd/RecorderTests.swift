#if CLI
import Glibc
import OverdriveCore
import TestSupport
import Testing

@Suite("A recording", .timeLimit(.minutes(10)))
struct RecorderTests {
    @Test("that cannot be read, or is none, is refused")
    func refusals() throws {
        try Command.overdrive(["trace", "convert", "/nowhere/r"]).run().expectRefusal(66, saying: "/nowhere/r: No such file")
        try Command.overdrive(["trace", "convert", "/etc/hostname"]).run().expectRefusal(65, saying: "no recording")
        try Command.overdrive(["trace", "convert", "/dev/null"]).run().expectRefusal(65, saying: "no recording")
        try Command.overdrive(["trace", "convert"]).run().expectRefusal(64, saying: "Missing expected argument")
    }

    @Test("of a circle of sync becomes a trace whose report names the circle")
    func circle() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var folder = Array("/tmp/od-recording-XXXXXX".utf8CString)
            try #require(mkdtemp(&folder) != nil)
            setenv("OVERDRIVE_RECORDER", folder, 1)
            let scheduler = try Scheduler(workers: 2, name: "circle")
            let (a, b) = (TaskQueue.serial(label: "a", scheduler: scheduler), TaskQueue.serial(label: "b", scheduler: scheduler))
            let (inA, inB) = (WaitGroup(), WaitGroup())
            inA.enter()
            inB.enter()
            a.async {
                inA.leave()
                inB.wait()
                b.sync {}
            }
            b.async {
                inB.leave()
                inA.wait()
                a.sync {}
            }
            try await Task.sleep(for: .seconds(120))
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let path = try #require(said.firstMatch(of: /the last seconds are in (\S+)\. Run/)?.1, "\(said)")
        let (recording, trace) = (String(path), String(path) + ".pftrace")
        defer {
            for file in [trace, recording] { unlink(file) }
            rmdir(String(path[..<path.lastIndex(of: "/")!]))
        }
        let converted = try Command.overdrive(["trace", "convert", recording]).run()
        #expect(converted.status == 0, "\(converted)")
        let report = try Command.overdrive(["trace", "report", trace]).run()
        let lines = report.text.split(separator: "\n")
        #expect(lines.count > 2 && lines[1].hasPrefix("recorded: TaskQueue.sync: a circle of serial queues"), "\(report)")
        try Command.overdrive(["trace", "report", recording]).run().expectRefusal(65, saying: "make one of a recording")
    }

    @Test("is not kept without the variable, and a directory that does not exist is named")
    func withoutRecorder() throws {
        let error = #expect(throws: Scheduler.TraceError.self) { try Scheduler.saveRecording() }
        #expect(error?.description.hasPrefix("Scheduler.saveRecording(_:): nothing is recorded (process ") == true)
        var command = Command.overdrive(["checksum", "/etc/hostname"])
        command.environment = ["OVERDRIVE_RECORDER=/nowhere:10s"]
        let run = try command.run()
        #expect(run.status == 0 && run.errors.contains("OVERDRIVE_RECORDER: cannot record into the directory (/nowhere: "), "\(run)")
        command.environment = ["OVERDRIVE_RECORDER=/tmp:10"]
        #expect(try command.run().errors.contains("Write seconds with their unit."))
    }
}
#endif
