#if CLI
internal import ArgumentParser
internal import CScheduler
internal import Glibc

/// Asks a running process for a trace.
enum RemoteTrace {
    /// Returns when the file is complete. Ctrl-C ends the trace.
    ///
    /// - Parameter file: An absolute path, with an optional limit.
    static func record(process: Int32, file: Bytes) throws {
        Interrupt.listen(waking: -1)
        var handle: OpaquePointer?
        let sentence = sentence { message, capacity in
            handle = file.withCString { od_trace_remote_start(process, $0, message, capacity) }
        }
        guard let handle else { throw refuse(sentence, .noInput) }
        defer { od_trace_remote_close(handle) }
        while true {
            var report = od_trace_report(), status = OD_TRACE_REMOTE_WAITS
            let sentence = Self.sentence { status = od_trace_remote_look(handle, &report, $0, $1) }
            switch status {
            case OD_TRACE_REMOTE_ENDED:
                if report.lost > 0 { StandardError.say("trace: \(report.lost) events were lost. Trace a shorter time.") }
                return
            case OD_TRACE_REMOTE_REFUSED: throw refuse(sentence, .output)
            case OD_TRACE_REMOTE_GONE: throw refuse(sentence, .noInput)
            case OD_TRACE_REMOTE_WAITS where Interrupt.isRequested: break  // The request to stop follows the answer.
            default: if Interrupt.isRequested { od_trace_remote_stop(handle) }
            }
            usleep(20_000)
        }
    }

    private static func refuse(_ sentence: String, _ status: ExitStatus) -> ExitCode {
        StandardError.say("trace: " + String(decoding: Bytes(sentence.utf8).printable, as: UTF8.self))
        return ExitCode(status.rawValue)
    }

    private static func sentence(_ call: (UnsafeMutablePointer<CChar>?, Int) -> Void) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_608) { room in
            room.initialize(repeating: 0)
            call(room.baseAddress, room.count)
            return room.baseAddress.map { String(cString: $0) } ?? ""
        }
    }
}
#endif
