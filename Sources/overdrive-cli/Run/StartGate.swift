internal import Glibc
internal import Synchronization

/// The rule of `--halt`: the condition for ending a run.
struct HaltRule: Sendable {
    enum Counted: Sendable { case fail, success, done, exit }
    var endsCommands: Bool
    var counted: Counted
    /// The number of commands, or the percentage. With `exit`, the exit code that ends the run at once.
    var limit: Int
    var isPercent: Bool

    /// Parses `now,fail=1`, `soon,fail=20%` or `soon,exit=255`; nil for other text. `never` has no rule.
    init?(_ text: String) {
        let parts = text.split(separator: ",", maxSplits: 1)
        guard parts.count == 2, parts[0] == "now" || parts[0] == "soon" else { return nil }
        let pair = parts[1].split(separator: "=", maxSplits: 1)
        guard pair.count == 2 else { return nil }
        switch pair[0] {
        case "fail": counted = .fail
        case "success": counted = .success
        case "done": counted = .done
        case "exit": counted = .exit
        default: return nil
        }
        isPercent = pair[1].hasSuffix("%")
        guard let limit = Int(isPercent ? pair[1].dropLast() : pair[1]), limit >= 1, !isPercent || limit <= 100 else {
            return nil
        }
        guard counted != .exit || !isPercent && limit <= 255 else { return nil }
        (self.limit, endsCommands) = (limit, parts[0] == "now")
    }
}

/// Decides when commands may start, and counts their results, for `--delay`, `--load`, `--memfree` and `--halt`.
final class StartGate: Sendable {
    private struct State {
        var nextStart = 0.0
        var running = 0
        var failed = 0
        var succeeded = 0
        var haltCode: Int32?
    }

    private let delay: Double
    private let mostLoad: Double?
    private let leastMemory: Double?
    private let halt: HaltRule?
    private let state = Mutex(State())

    init(delay: Double, mostLoad: Double?, leastMemory: Double?, halt: HaltRule?) {
        (self.delay, self.mostLoad, self.leastMemory, self.halt) = (delay, mostLoad, leastMemory, halt)
    }

    /// The exit code of the command for which `--halt` ended the run; nil if it has not ended it.
    var haltCode: Int32? { state.withLock { $0.haltCode } }

    /// Whether a failure counts while the run ends, because `--halt` ends runs for failures.
    var countsAtEnd: Bool { haltCode != nil || [.fail, .done, .exit].contains(halt?.counted) }

    /// Waits until a command may start.
    ///
    /// - Returns: Whether the command may start: false if the run halts or must end.
    func enter(isEnding: () -> Bool) -> Bool {
        while !isEnding() {
            guard haltCode == nil else { return false }
            guard hasRoom else {
                usleep(200_000)
                continue
            }
            let now = Stamp.ticks
            let wait = state.withLock { state -> Double? in
                guard state.haltCode == nil else { return nil }
                if now < state.nextStart { return state.nextStart - now }
                state.nextStart = now + delay
                state.running += 1
                return 0
            }
            guard let wait else { return false }
            if wait == 0 { return true }
            usleep(useconds_t(min(wait, 0.1) * 1e6) + 1)
        }
        return false
    }

    /// Records the result of a command.
    ///
    /// - Parameters:
    ///   - outcome: The result; nil if it does not count.
    ///   - total: The number of items.
    /// - Returns: Whether the run must end now.
    func leave(_ outcome: ChildProcess.Outcome?, of total: Int) -> Bool {
        state.withLock { state in
            state.running -= 1
            if let outcome {
                if outcome.isSuccess { state.succeeded += 1 } else { state.failed += 1 }
                if state.haltCode == nil, let halt {
                    let code = Int32(outcome.signal != 0 ? 128 + outcome.signal : outcome.exitCode)
                    let count =
                        switch halt.counted {
                        case .fail: state.failed
                        case .success: state.succeeded
                        case .done: state.failed + state.succeeded
                        case .exit: Int(code) == halt.limit ? halt.limit : 0
                        }
                    let isReached = halt.isPercent ? count * 100 >= halt.limit * max(1, total) : count >= halt.limit
                    if isReached { state.haltCode = code }
                }
            }
            return state.haltCode != nil && (halt?.endsCommands == true || state.running == 0)
        }
    }

    private var hasRoom: Bool {
        if let mostLoad {
            var load = 0.0
            if getloadavg(&load, 1) == 1, load > mostLoad { return false }
        }
        guard let leastMemory, let text = Self.contents("/proc/meminfo") else { return true }
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("MemAvailable:") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
        else { return true }
        return kilobytes * 1024 >= leastMemory
    }

    private static func contents(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return Manifest.readAll(file).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Parses a size such as 2G or 512M into bytes; nil for other text.
    static func size(_ text: String) -> Double? {
        let powers: [Character: Double] = ["k": 1, "m": 2, "g": 3, "t": 4]
        let power = text.last.flatMap { powers[Character($0.lowercased())] } ?? 0
        guard let number = Double(power > 0 ? text.dropLast() : text[...]), number >= 0 else { return nil }
        return (0..<Int(power)).reduce(number) { size, _ in size * 1024 }
    }
}
