internal import Glibc

extension Fingerprint {
    /// What this machine is, as far as it tells.
    public static func current(size: Workload.Size, rounds: Int, settle: Int, budget: Int?, workers: [Int]) -> Fingerprint {
        let information = File.read("/proc/cpuinfo").split(separator: "\n")
        let cpu = information.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map(trimmed) ?? "unknown"
        let total = File.read("/proc/meminfo").split(separator: "\n").first?.split(separator: " ").dropFirst().first
        let os = File.read("/etc/os-release").split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        var time = time(nil)
        var parts = tm()
        gmtime_r(&time, &parts)
        var date = [CChar](repeating: 0, count: 32)
        strftime(&date, 32, "%Y-%m-%dT%H:%M:%SZ", &parts)
        func answer(_ arguments: String...) -> String {
            let line = Child.run(arguments, seconds: 10).output.split(separator: "\n").first.map(trimmed) ?? ""
            return line.isEmpty ? "none" : line
        }
        return Fingerprint(
            date: String(decoding: date.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self),
            commit: answer("git", "rev-parse", "--short", "HEAD"), cpu: cpu,
            kernel: answer("uname", "-sr"), memory: total.map { "\($0) KiB" } ?? "unknown",
            os: os.map { trimmed($0.dropFirst(12)) } ?? "unknown", cpus: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            swift: answer("swift", "--version"), gcc: answer("gcc", "--version"), clang: answer("clang", "--version"),
            tbb: answer("pkg-config", "--modversion", "tbb"), glibc: answer("ldd", "--version"),
            allocator: allocator, size: size.rawValue, rounds: rounds, budget: budget ?? 0,
            settle: settle, priority: priority, workers: workers)
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
            return ([niceness == 0 ? nil : "nice \(niceness)"] + [shares]).compactMap { $0 }.joined(separator: ", ")
        }
    }

    /// The weight of this process's control group (version 1) among its neighbours, where it is not the usual 1,024.
    private static var shares: String? {
        guard let line = File.read("/proc/self/cgroup").split(separator: "\n").first(where: { $0.contains(":cpu:") }),
            let path = line.split(separator: ":", omittingEmptySubsequences: false).last,
            let shares = Int(File.read("/sys/fs/cgroup/cpu\(path)/cpu.shares").filter(\.isNumber)), shares != 1024
        else { return nil }
        return "cpu.shares \(shares)"
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\"" }.reversed().drop { $0 == " " || $0 == "\"" }.reversed())
    }
}
