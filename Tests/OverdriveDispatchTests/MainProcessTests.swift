import Foundation
import Testing

extension DropIn {
    /// A program of its own, because `dispatchMain()` never gives the main thread back.
    @Suite("A program whose main thread is the main queue's")
    struct MainProcess {
        @Test("dispatchMain() runs closures, timers and operations of the main queue, until one of them ends the program")
        func dispatchMain() throws {
            let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            let probe = Process()
            let output = Pipe()
            probe.executableURL = products.appendingPathComponent("main-probe")
            probe.standardOutput = output
            try probe.run()
            let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            probe.waitUntilExit()
            #expect(
                said.split(separator: "\n") == [
                    "first", "second", "sync 42", "counted", "after", "timer", "cancelled", "operation true",
                ])
            #expect(probe.terminationReason == .exit && probe.terminationStatus == 7)
        }
    }
}
