internal import OverdriveCore

/// Reads a checksum list line by line, and reports for each file whether it matches.
final class CheckPlan: Plan {
    struct Options {
        /// Prints nothing for matching files.
        var quiet = false
        /// Prints nothing.
        var status = false
        /// Names each invalid line.
        var warn = false
        /// Fails if a line is invalid.
        var strict = false
        /// Skips files that do not exist.
        var ignoreMissing = false
        /// Prints JSON.
        var json = false
    }

    /// The largest number of results that may wait for an earlier one.
    static let heldLimit = 8192

    let options: Options
    private let lines: LineReader
    private var units = Fifo<CheckUnit>()
    private var lineNumber = 0
    private var spacing = ChecksumLine.Spacing()
    private var isAtEnd = false

    private(set) var failures = FailureList()
    private(set) var peakHeld = 0
    private(set) var verdict = CheckVerdict()

    init(_ lines: LineReader, options: Options) {
        self.lines = lines
        self.options = options
    }

    var isFinished: Bool { isAtEnd && units.count == 0 }

    func next() -> WorkUnit? {
        guard units.count < Self.heldLimit else { return nil }
        while !isAtEnd {
            switch lines.next() {
            case .success(let line?):
                lineNumber += 1
                // sha256sum also skips empty lines and comments.
                guard !line.isEmpty, line.first != UInt8(ascii: "#") else { continue }
                guard let expected = ChecksumLine(line, &spacing) else {
                    verdict.malformed += 1
                    if verdict.malformedLines.count < FailureList.capacity {
                        verdict.malformedLines.append(lineNumber)
                    }
                    continue
                }
                verdict.formatted += 1
                let unit = CheckUnit(expected)
                units.append(unit)
                peakHeld = max(peakHeld, units.count)
                return unit
            case .success(nil):
                isAtEnd = true
            case .failure(let error):
                verdict.listError = error.number
                isAtEnd = true
            }
        }
        return nil
    }

    func finish(_ unit: WorkUnit, into output: inout Bytes) {
        unit.isDone = true
        while let first = units.first, first.isDone {
            report(first, into: &output)
            units.popFirst()
        }
    }

    private func report(_ unit: CheckUnit, into output: inout Bytes) {
        let name = unit.expected.name
        switch unit.outcome {
        case .success(let digest) where digest == unit.expected.digest:
            verdict.matches += 1
            if !options.quiet { append(name, "OK", to: &output) }
        case .success(let found):
            verdict.mismatches += 1
            append(name, "FAILED", found: found, of: unit.expected.digest, to: &output)
        case .failure(let error) where options.ignoreMissing && error.isMissing || Descriptors.isShortage(error.number):
            break
        case .failure(let error):
            verdict.unreadable += 1
            failures.append(Failure(path: name, number: error.number))
            append(name, "FAILED open or read", to: &output)
        }
    }

    private func append(
        _ name: Bytes, _ verdict: String, found: Digest? = nil, of expected: Digest? = nil, to output: inout Bytes
    ) {
        if options.status { return }
        if options.json { return JSONLine.verdict(verdict, of: name, expected: expected, found: found, to: &output) }
        ChecksumLine.writeVerdict(verdict, of: name, to: &output)
    }
}

/// A line of a list: the expected digest and the current one.
final class CheckUnit: WorkUnit, @unchecked Sendable {
    let expected: ChecksumLine
    private(set) var outcome: Result<Digest, SystemError>

    init(_ expected: ChecksumLine) {
        self.expected = expected
        outcome = .success(expected.digest)
    }

    override func perform(with reader: FileReader) {
        let algorithm = expected.digest.algorithm
        outcome =
            expected.name == Roots.standardInput
            ? reader.digestOfStandardInput(algorithm) : reader.digest(expected.name, links: .followed, algorithm)
    }
}
