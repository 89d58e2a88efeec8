internal import Glibc
internal import OverdriveCore

extension Fact {
    /// The activity of the idle process for 10 seconds, from one second after its last work.
    static func idle(_ contenders: Contenders) -> [Fact] {
        for _ in 0..<contenders.closures { contenders.queue.async {} }
        contenders.queue.waitUntilAllTasksAreFinished()
        Stopwatch.sleep(nanoseconds: 1_000_000_000)
        let before = usage
        Stopwatch.sleep(nanoseconds: 10_000_000_000)
        let after = usage
        return [
            Fact(name: "CPU in 10 s of idleness", value: (after.cpu - before.cpu).rounded(.down), unit: "ms", bar: 0),
            Fact(
                name: "context switches in that time", value: after.switches - before.switches, unit: "", bar: 10),
        ]
    }

    private static var usage: (cpu: Double, switches: Double) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func milliseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1000 + Double(time.tv_usec) / 1000 }
        return (
            milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
            Double(usage.ru_nvcsw + usage.ru_nivcsw)
        )
    }
}
