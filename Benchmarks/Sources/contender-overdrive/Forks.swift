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
    static func loop<Body: LoopBody>(_ count: Int, _ body: Body) {
        Parallel.forEach(0..<count) { body.run($0) }
    }

    static func loopInParts<Body: LoopBody>(_ count: Int, _ body: Body) {
        Parallel().forEachChunk(0..<count) { run($0, body) }
    }

    /// A function of its own: in a closure that is handed to another module's inlinable function, the compiler leaves
    /// calls of C's inline functions as they are.
    @inline(never)
    private static func run<Body: LoopBody>(_ part: Range<Int>, _ body: Body) {
        for i in part { body.run(i) }
    }

    /// This thread is an external thread of the shared scheduler, whose number of workers the environment sets.
    static func prepare() {
        setenv("OVERDRIVE_WORKERS", "\(Harness.workers)", 1)
        let asked = CommandLine.arguments.dropFirst().first
        guard (Shapes<Forks>.trees + Shapes<Forks>.loops).contains(where: { $0.name == asked }) else { return }
        Harness.counters = {
            let metrics = Scheduler.shared.metrics
            return [
                ("stolen_forks", metrics.stolenForks), ("parks", metrics.parks), ("useful_wakes", metrics.usefulWakes),
                ("spurious_wakes", metrics.spuriousWakes),
            ]
        }
    }
}
