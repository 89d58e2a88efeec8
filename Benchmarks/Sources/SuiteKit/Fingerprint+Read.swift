internal import FoundationEssentials
internal import Glibc

extension Fingerprint {
    /// What this machine is, as far as it tells; `programs` are the contenders' files. Commit and compilers are those of `build`,
    /// where the programs were built elsewhere.
    public static func current(
        size: Workload.Size, rounds: Int, budget: Int?, workers: [Int], programs: [String] = [], build: Fingerprint? = nil
    ) -> Fingerprint {
        let information = File.read("/proc/cpuinfo").split(separator: "\n")
        let cpu = information.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map(trimmed) ?? "unknown"
        let total = File.read("/proc/meminfo").split(separator: "\n").first?.split(separator: " ").dropFirst().first
        let os = File.read("/etc/os-release").split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        var time = time(nil)
        var parts = tm()
        gmtime_r(&time, &parts)
        var date = [CChar](repeating: 0, count: 32)
        strftime(&date, 32, "%Y-%m-%dT%H:%M:%SZ", &parts)
        func line(of arguments: [String]) -> String? {
            let line = Child.run(arguments, seconds: 10).output.split(separator: "\n").first.map(trimmed) ?? ""
            return line.isEmpty ? nil : line
        }
        func told(_ arguments: String...) -> String? { line(of: arguments) }
        func answer(_ arguments: String...) -> String { line(of: arguments) ?? "none" }
        let number = ["cpu family", "model", "stepping"].compactMap { name in
            information.first { trimmed($0.prefix { $0 != ":" && $0 != "\t" }) == name }.map { "\(name) \($0.split(separator: ":").last.map(trimmed) ?? "")" }
        }
        let go = told("go", "version")
        var print = Fingerprint(
            date: String(decoding: date.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self),
            commit: answer("git", "rev-parse", "--short", "HEAD") + (isEdited ? "-dirty" : ""), cpu: cpu,
            kernel: answer("uname", "-sr"), memory: total.map { "\($0) KiB" } ?? "unknown",
            os: os.map { trimmed($0.dropFirst(12)) } ?? "unknown", cpus: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            swift: answer("swift", "--version"), gcc: answer("gcc", "--version"), clang: answer("clang", "--version"),
            tbb: answer("pkg-config", "--modversion", "tbb"), glibc: answer("ldd", "--version"),
            allocator: allocator + (go == nil ? "" : " (Go: its own)"), size: size.rawValue, rounds: rounds, budget: budget ?? 0,
            priority: priority, workers: workers, family: number.isEmpty ? nil : number.joined(separator: ", "), caches: caches,
            governor: told("cat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), hugePages: hugePages, go: go, rustc: told("rustc", "--version"),
            rayon: rayon, nio: nio, programs: programs.isEmpty ? nil : hash(of: programs))
        if let build {
            (print.commit, print.swift, print.gcc, print.clang, print.tbb) = (build.commit, build.swift, build.gcc, build.clang, build.tbb)
            (print.go, print.rustc, print.rayon, print.nio) = (build.go, build.rustc, build.rayon, build.nio)
        }
        return print
    }

    /// The print that a folder of programs built elsewhere has along.
    public static func build(beside folder: String) -> Fingerprint? {
        try? JSONDecoder().decode(Fingerprint.self, from: Data(File.read(folder + "/build.json").utf8))
    }

    /// Whether what is measured, or measures, is not what the commit has.
    private static var isEdited: Bool {
        let sources = ["CScheduler", "Sources", "Package.swift", "Benchmarks/Sources", "Benchmarks/Peers", "Benchmarks/Package.swift"].map { ":/\($0)" }
        return !Child.run(["git", "status", "--porcelain", "--"] + sources, seconds: 10).output.isEmpty
    }

    /// FNV-1a over the names and contents.
    static func hash(of files: [String]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for file in files.sorted() {
            for byte in Array((file.split(separator: "/").last ?? "").utf8) + [0] + File.bytes(file) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return String(hash, radix: 16)
    }

    private static var caches: String? {
        let all = (0..<8).compactMap { index -> String? in
            func read(_ name: String) -> String {
                trimmed(File.read("/sys/devices/system/cpu/cpu0/cache/index\(index)/\(name)").filter { $0 != "\n" }[...])
            }
            guard !read("size").isEmpty else { return nil }
            return "L\(read("level"))\(read("type") == "Unified" ? "" : read("type").prefix(1).lowercased()) \(read("size"))"
        }
        return all.isEmpty ? nil : all.joined(separator: ", ")
    }

    /// The word in brackets is the one that holds.
    private static var hugePages: String? {
        let words = File.read("/sys/kernel/mm/transparent_hugepage/enabled")
        return words.split(separator: "[").dropFirst().first?.split(separator: "]").first.map(String.init)
    }

    /// As Debian has it, or as the package was resolved.
    private static var rayon: String? {
        let crates = Child.run(["ls", "/usr/share/cargo/registry"], seconds: 10).output.split(separator: "\n")
        return crates.first { $0.hasPrefix("rayon-") && $0.dropFirst(6).first?.isNumber == true }.map { String($0.dropFirst(6)) }
    }

    private static var nio: String? {
        struct Resolved: Decodable {
            struct Pin: Decodable {
                struct State: Decodable { let version: String? }
                let identity: String
                let state: State
            }
            let pins: [Pin]
        }
        let resolved = try? JSONDecoder().decode(Resolved.self, from: Data(File.read("Benchmarks/Package.resolved").utf8))
        return resolved?.pins.first { $0.identity == "swift-nio" }?.state.version
    }

    /// Whose malloc contenders call: glibc's, and what a preloaded library or a setting makes of it.
    private static var allocator: String {
        func variable(_ name: String) -> String? { getenv(name).map { "\(name)=\(String(cString: $0))" } }
        return (["glibc malloc"] + [variable("LD_PRELOAD"), variable("GLIBC_TUNABLES"), variable("MALLOC_ARENA_MAX")].compactMap { $0 })
            .joined(separator: ", ")
    }

    /// What chrt(1) and nice(1) made of this process, and so of its children.
    private static var priority: String {
        var parameters = sched_param()
        sched_getparam(0, &parameters)
        switch sched_getscheduler(0) {
        case SCHED_RR: return "real-time priority \(parameters.sched_priority), round robin"
        case SCHED_FIFO: return "real-time priority \(parameters.sched_priority)"
        default:
            let niceness = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
            return ([niceness == 0 ? nil : "nice \(niceness)"] + [weight(groups: File.read("/proc/self/cgroup"), File.read)]).compactMap { $0 }.joined(separator: ", ")
        }
    }

    /// The weight of a process's control group among its neighbours, where it is not the usual one: of version 1, whose folders are
    /// called as the controllers in them, or of version 2.
    static func weight(groups: String, _ read: (String) -> String) -> String? {
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isFirst = parts[1].split(separator: ",").contains("cpu")
            guard isFirst || parts[1].isEmpty else { continue }
            for folder in isFirst ? ["/\(parts[1])", "/cpu"] : ["", "/unified"] {
                let name = isFirst ? "cpu.shares" : "cpu.weight"
                let path = parts[2] == "/" ? "" : parts[2]
                guard let value = Int(read("/sys/fs/cgroup\(folder)\(path)/\(name)").filter(\.isNumber)) else { continue }
                if value != (isFirst ? 1024 : 100) { return "\(name) \(value)" }
                break
            }
        }
        return nil
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\"" }.reversed().drop { $0 == " " || $0 == "\"" }.reversed())
    }
}
