/// How a check went, over all of a list.
struct CheckVerdict: Sendable, Equatable {
    var matches = 0
    var mismatches = 0
    var unreadable = 0
    /// Lines that are checksums.
    var formatted = 0
    /// Lines that are not.
    var malformed = 0
    /// Where the first of those stand.
    var malformedLines: [Int] = []
    /// The `errno` that ended the list early.
    var listError: Int32?

    /// Says what `sha256sum --check` says after the last file, but that a line which is none is of no one algorithm.
    ///
    /// - Parameter list: The list's name.
    func report(on list: Bytes, options: CheckPlan.Options) -> ExitStatus {
        if options.warn {
            for line in malformedLines {
                StandardError.say(list, "\(line): improperly formatted checksum line")
            }
        }
        if let listError {
            StandardError.say(list, sentence(forError: listError))
            return .someFailed
        }
        guard formatted > 0 else {
            StandardError.say(list, "no properly formatted checksum lines found")
            return .someFailed
        }
        if !options.status {
            for warning in warnings { StandardError.say("WARNING: \(warning)") }
            if options.ignoreMissing, matches + mismatches + unreadable == 0 {
                StandardError.say(list, "no file was verified")
            }
        }
        let verifiedNone = options.ignoreMissing && matches == 0
        let isGood = mismatches == 0 && unreadable == 0 && !verifiedNone && !(options.strict && malformed > 0)
        return isGood ? .success : .someFailed
    }

    /// The lines that count what was wrong.
    var warnings: [String] {
        var lines: [String] = []
        if malformed > 0 {
            lines.append(
                malformed == 1
                    ? "1 line is improperly formatted"
                    : "\(malformed) lines are improperly formatted")
        }
        if unreadable > 0 {
            lines.append(
                unreadable == 1
                    ? "1 listed file could not be read"
                    : "\(unreadable) listed files could not be read")
        }
        if mismatches > 0 {
            lines.append(
                mismatches == 1
                    ? "1 computed checksum did NOT match"
                    : "\(mismatches) computed checksums did NOT match")
        }
        return lines
    }
}
