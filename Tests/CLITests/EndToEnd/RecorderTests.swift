#if CLI
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
