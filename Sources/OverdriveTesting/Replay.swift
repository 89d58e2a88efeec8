// Owns the text form of a schedule: a failure prints it, and OVERDRIVE_REPLAY repeats it. It never runs anything.

internal import OverdriveCore

/// A schedule as a list of exceptions from the usual choice, and a hash of each of its decisions.
struct Replay: Equatable {
    /// Changes whenever the form does.
    static let form = "od1"

    /// A longer schedule has one hash for several decisions.
    private static let mostHashes = 256

    var site: UInt16
    var decisions: Int
    var choices: [ControlledRun.Choice]
    var hashes: [UInt8]

    init(site: UInt16, steps: [ControlledRun.Step]) {
        self.site = site
        choices = Replay.exceptions(in: steps)
        hashes = Replay.hashes(of: steps)
        decisions = hashes.count
        hashes = Replay.thin(hashes)
    }

    static func exceptions(in steps: [ControlledRun.Step]) -> [ControlledRun.Choice] {
        steps.filter { $0.isDecision && $0.chosen != $0.usual }
            .map { ControlledRun.Choice(decision: $0.decision, thread: $0.chosen) }
    }

    /// One hash of six bits for each decision, over all that came before.
    private static func hashes(of steps: [ControlledRun.Step]) -> [UInt8] {
        var digest = Digest()
        var hashes: [UInt8] = []
        for step in steps {
            digest.add(step)
            if step.isDecision { hashes.append(UInt8(digest.value >> 58)) }
        }
        return hashes
    }

    private static func stride(_ count: Int) -> Int { max(1, (count + mostHashes - 1) / mostHashes) }

    private static func thin(_ hashes: [UInt8]) -> [UInt8] {
        let stride = stride(hashes.count)
        return Swift.stride(from: stride - 1, to: hashes.count, by: stride).map { hashes[$0] }
    }

    /// Returns the number of the first decision that is not as it was, or nil.
    ///
    /// A trap writes a string without hashes: then only the choices are compared.
    func divergence(of steps: [ControlledRun.Step], missed: UInt32?) -> Int? {
        if hashes.isEmpty { return missed.map { Int($0) } }
        let now = Replay.hashes(of: steps)
        let stride = Replay.stride(decisions)
        for (number, hash) in hashes.enumerated() {
            let at = number * stride + stride - 1
            if at >= now.count || now[at] != hash { return min(number * stride, now.count) }
        }
        return now.count == decisions ? nil : min(now.count, decisions)
    }

    // MARK: - Text

    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+_".utf8)

    /// The form: `od1.SITE.DECISIONS.CHOICES.HASHES`, each choice as decision`:`thread.
    var text: String {
        let list = choices.map { "\($0.decision):\($0.thread)" }.joined(separator: ",")
        let codes = String(decoding: hashes.map { Replay.digits[Int($0) & 63] }, as: UTF8.self)
        return "\(Replay.start(site: site, decisions: decisions))\(list).\(codes)"
    }

    /// Returns the text before the choices.
    static func start(site: UInt16, decisions: Int) -> String {
        "\(form).\(String(site, radix: 16)).\(decisions)."
    }

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == Replay.form, let site = UInt16(parts[1], radix: 16),
            let decisions = UInt32(parts[2]).map(Int.init)
        else { return nil }
        var choices: [ControlledRun.Choice] = []
        for item in parts[3].split(separator: ",") {
            let numbers = item.split(separator: ":").compactMap { UInt32($0) }
            guard numbers.count == 2, choices.last.map({ $0.decision < numbers[0] }) ?? true else { return nil }
            choices.append(ControlledRun.Choice(decision: numbers[0], thread: numbers[1]))
        }
        let hashes = parts[4].utf8.compactMap { code in Replay.digits.firstIndex(of: code).map { UInt8($0) } }
        guard hashes.count == parts[4].utf8.count else { return nil }
        // A trap does not know the number of decisions, and writes no hashes.
        guard hashes.isEmpty || choices.last.map({ $0.decision < decisions }) ?? true else { return nil }
        (self.site, self.decisions, self.choices, self.hashes) = (site, decisions, choices, hashes)
    }
}

/// A hash of what a run has done, which is equal in every process.
struct Digest {
    private(set) var value: UInt64 = 14_695_981_039_346_656_037

    mutating func add(_ number: UInt64) {
        value = (value ^ number) &* 1_099_511_628_211
        value ^= value >> 29
    }

    mutating func add(_ step: ControlledRun.Step) {
        add(UInt64(step.kind) << 16 | UInt64(step.thread) << 8 | UInt64(step.chosen))
        add(step.ready)
    }
}
