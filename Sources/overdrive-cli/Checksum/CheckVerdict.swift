/// The result of a check of a whole list.
struct CheckVerdict: Sendable, Equatable {
    var matches = 0
    var mismatches = 0
    var unreadable = 0
    /// The number of valid lines.
    var formatted = 0
    /// The number of invalid lines.
    var malformed = 0
    /// The line numbers of the first invalid lines.
    var malformedLines: [Int] = []
    /// The `errno` that ended the reading of the list.
    var listError: Int32?

    /// Prints the final messages of `sha256sum --check`. The message for invalid lines names no algorithm.
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

    /// The messages with the numbers of problems.
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
