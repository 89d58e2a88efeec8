// Owns the conversion of recordings into traces, for the command. It never touches a scheduler.

internal import CScheduler

/// The outcome of ``convertRecording(_:to:)``.
package enum RecordingConversion {
    case converted, unreadable, invalid, unwritten
}

/// Makes a new trace file of a recording. The sentence says why it cannot, or that the recording breaks off.
package func convertRecording(_ file: [UInt8], to path: [UInt8]) -> (outcome: RecordingConversion, sentence: String) {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 8_192) { room in
        unsafe room.initialize(repeating: 0)
        let status = unsafe (file + [0]).withUnsafeBytes { from in
            unsafe (path + [0]).withUnsafeBytes { to in
                unsafe od_recording_convert(
                    from.bindMemory(to: CChar.self).baseAddress, to.bindMemory(to: CChar.self).baseAddress,
                    room.baseAddress, room.count)
            }
        }
        let sentence = unsafe String(decoding: room.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
        switch status {
        case OD_RECORDING_CONVERTED: return (.converted, sentence)
        case OD_RECORDING_UNREADABLE: return (.unreadable, sentence)
        case OD_RECORDING_INVALID: return (.invalid, sentence)
        default: return (.unwritten, sentence)
        }
    }
}
