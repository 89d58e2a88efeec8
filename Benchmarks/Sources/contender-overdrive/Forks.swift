internal import BenchmarkKit
internal import Glibc
internal import OverdriveCore

/// Trees and loops, forked.
enum Forks: ForkJoin {
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) {
        Parallel.join(a, b)
    }

    @inline(__always)
    static func sum(_ count: Int, _ body: @Sendable (Int) -> UInt64) -> UInt64 {
        Parallel.join(count: count, 0, &+, body)
    }

    @inline(__always)
    static func loop(_ count: Int, _ body: @Sendable (Int) -> Void) {
        Parallel.forEach(0..<count, body)
    }

    /// This thread is a guest of the shared scheduler, whose number of workers the environment sets.
    static func prepare() {
        setenv("OVERDRIVE_WORKERS", "\(Harness.workers)", 1)
        let asked = CommandLine.arguments.dropFirst().first
        guard (Shapes<Forks>.trees + Shapes<Forks>.loops).contains(where: { $0.name == asked }) else { return }
        // Forks that were stolen are not among the scheduler's metrics.
        Harness.counters = {
            let metrics = Scheduler.shared.metrics
            return [("parks", metrics.parks), ("useful_wakes", metrics.usefulWakes), ("spurious_wakes", metrics.spuriousWakes)]
        }
    }
}
