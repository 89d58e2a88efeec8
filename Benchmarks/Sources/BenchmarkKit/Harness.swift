internal import CWorkloads
internal import Glibc
internal import Synchronization

/// How a contender in Swift is asked and how it answers; Peers/harness.h is the same in C.
///
/// A contender is a program: `contender WORKLOAD key=value…` measures one workload in this process and prints
/// lines `sample NANOSECONDS ANSWER`, `fact NAME VALUE`, `check ANSWER` and at last `end`.
public enum Harness {
    /// A workload's name and what measures it.
    public typealias Entry = (name: String, run: () -> Void)

    private static let arguments = CommandLine.arguments

    /// The value of `key=` among the arguments.
    public static func value(_ key: String, _ otherwise: Int) -> Int {
        for argument in arguments.dropFirst(2) where argument.hasPrefix(key + "=") {
            guard let value = Int(argument.dropFirst(key.count + 1)) else {
                fail("\(argument) is no number")
            }
            return value
        }
        return otherwise
    }

    /// How many workers are asked for.
    public static var workers: Int { value("workers", 1) }

    /// Measures the workload that the command line names, and ends the process.
    public static func main(_ entries: [Entry]) -> Never {
        guard arguments.count > 1 else {
            fail("usage: \(arguments[0]) WORKLOAD key=value… | list")
        }
        if arguments[1] == "list" {
            for entry in entries { print(entry.name) }
            exit(0)
        }
        guard let entry = entries.first(where: { $0.name == arguments[1] }) else {
            complain("no workload named \(arguments[1])")
            exit(69)
        }
        entry.run()
        end()
    }

    private static func end() -> Never {
        print("end")
        exit(fflush(nil) == 0 ? 0 : 74)
    }

    /// Leaves the process as many CPUs as workers are asked for: the only limit that libdispatch and Swift
    /// Concurrency know. Call it before their first use.
    public static func limitToCPUs(_ count: Int) {
        wl_limit_to_cpus(Int32(count))
    }

    // MARK: Answers

    public static func sample(_ nanoseconds: Int, _ answer: UInt64) {
        print("sample \(nanoseconds) \(answer)")
    }

    public static func check(_ answer: UInt64) {
        print("check \(answer)")
    }

    public static func fact(_ name: String, _ value: Double) {
        print("fact \(name) \(value)")
    }

    public static func complain(_ sentence: String) {
        let line = "\(arguments.first ?? "contender"): \(sentence)\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
    }

    public static func fail(_ sentence: String) -> Never {
        complain(sentence)
        exit(64)
    }

    // MARK: Measuring

    /// Nanoseconds since some moment of the past.
    public static var now: Int { clock(CLOCK_MONOTONIC) }

    private static func clock(_ id: clockid_t) -> Int {
        var time = timespec()
        clock_gettime(id, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// CPU time of the process so far, in nanoseconds.
    public static var cpu: Int { clock(CLOCK_PROCESS_CPUTIME_ID) }

    public static func sleep(microseconds: Int) {
        var rest = timespec(tv_sec: microseconds / 1_000_000, tv_nsec: microseconds % 1_000_000 * 1000)
        var left = timespec()
        while nanosleep(&rest, &left) == -1 && errno == EINTR { rest = left }
    }

    /// Runs `once` to warm up (not with `cold=1`), then until the budget is spent, three times at least (or `least=`).
    /// `prepare` runs before each and is not timed. With `check=0` the process ends with the last sample: what counts all
    /// its instructions does not want the pass that checks after it.
    public static func measure(prepare: () -> Void = {}, _ once: () -> UInt64) {
        var samples = Samples()
        while samples.next() {
            prepare()
            let began = now
            let answer = once()
            samples.add(now - began, answer)
        }
        samples.report()
    }

    /// ``measure(prepare:_:)`` for what suspends.
    public static func measure(prepare: () -> Void = {}, _ once: () async -> UInt64) async {
        var samples = Samples()
        while samples.next() {
            prepare()
            let began = now
            let answer = await once()
            samples.add(now - began, answer)
        }
        samples.report()
    }

    /// Many short round trips; the samples are the medians of ten parts of them, one after another.
    public static func measureTrips(_ trip: () -> Void) {
        var times = Trips()
        while times.next() {
            let start = now
            trip()
            times.add(now - start)
        }
        times.report()
    }

    /// ``measureTrips(_:)`` for what suspends.
    public static func measureTrips(_ trip: () async -> Void) async {
        var times = Trips()
        while times.next() {
            let start = now
            await trip()
            times.add(now - start)
        }
        times.report()
    }

    /// Samples within a budget of time, after some that warm up.
    private struct Samples {
        private let warmUp = value("warmup_ms", 20) * 1_000_000
        private let budget = value("budget_ms", 150) * 1_000_000
        private let least = value("least", 3)
        private let most = value("most", 2000)
        private var start = now
        private var count = value("cold", 0) == 0 ? -1 : 0
        private var usage = Usage()

        func next() -> Bool {
            count < least || (count < most && now - start < budget)
        }

        mutating func add(_ time: Int, _ answer: UInt64) {
            guard count >= 0 else {
                guard now - start >= warmUp else { return }
                (start, count, usage) = (now, 0, Usage())
                return
            }
            sample(time, answer)
            count += 1
        }

        mutating func report() {
            usage.report(samples: count)
            if value("check", 1) == 0 { end() }
        }
    }

    /// Round trips that warm up.
    public static let warmUpTrips = 10

    /// Round trips after a quiet time each.
    private struct Trips {
        private let quiet = value("quiet_us", 0)
        private let wanted = value("trips", 500)
        private var made = -warmUpTrips
        private var times: [Int] = []
        private var usage = Usage()

        mutating func next() -> Bool {
            guard made < wanted else { return false }
            if made == 0 { usage = Usage() }
            if quiet > 0 { sleep(microseconds: quiet) }
            return true
        }

        mutating func add(_ time: Int) {
            if made >= 0 { times.append(time) }
            made += 1
        }

        mutating func report() {
            usage.report(samples: times.count)
            let part = max(1, times.count / 10)
            for start in stride(from: 0, to: times.count - part + 1, by: part) {
                sample(times[start..<start + part].sorted()[part / 2], UInt64(times.count))
            }
            times.sort()
            fact("p99_ns", Double(times[times.count * 99 / 100]))
        }
    }

    /// What a scheduler counts of itself; set it before measuring, and the differences become facts.
    public static var counters: @Sendable () -> [(name: String, value: Int)] {
        get { ownCounters.withLock { $0 } }
        set { ownCounters.withLock { $0 = newValue } }
    }

    private static let ownCounters = Mutex<@Sendable () -> [(name: String, value: Int)]>({ [] })

    /// What the process used since the value was made.
    private struct Usage {
        private let wall = now
        private let cpu = Harness.cpu
        private let before = Usage.read()
        private let counted = Counting.read()
        private let own = Harness.counters()

        mutating func report(samples: Int) {
            let after = Usage.read()
            for (old, new) in zip(counted, Counting.read()) {
                fact(old.name, Double(new.value - old.value) / Double(samples))
            }
            for (old, new) in zip(own, Harness.counters()) {
                fact(old.name, Double(new.value - old.value) / Double(samples))
            }
            fact("cpus", Double(Harness.cpu - cpu) / Double(max(now - wall, 1)))
            fact("switches", Double(after.ru_nvcsw - before.ru_nvcsw) / Double(samples))
            fact("preemptions", Double(after.ru_nivcsw - before.ru_nivcsw) / Double(samples))
            fact("rss_kib", Double(Harness.peakResidentKiB))
        }

        private static func read() -> rusage {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage
        }
    }

    // MARK: The process itself

    /// The most resident memory of this program so far. (`ru_maxrss` begins with that of whoever started it.)
    static var peakResidentKiB: Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split { $0 == " " || $0 == "\t" }
            if words.first == "VmHWM:", words.count > 1 { return Int(words[1]) ?? 0 }
        }
        return 0
    }

    /// Resident memory of the process now, in bytes.
    public static var residentBytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
        return words.count > 1 ? (Int(words[1]) ?? 0) * 4096 : 0
    }
}
