// The floor of the runtime: an executor that appends to an array and runs on one thread, with timers that are due at once.
internal import ProbeWork
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

/// Used on the first thread alone, which is why nothing in it is locked.
final class Floor: TaskExecutor, SchedulingExecutor, @unchecked Sendable {
    static let shared = Floor()
    private var jobs: [UnownedJob] = []
    private var closures: [() -> Void] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at: C.Instant, tolerance: C.Duration?, clock: C) {
        enqueue(job)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after: C.Duration, tolerance: C.Duration?, clock: C) {
        enqueue(job)
    }

    func later(_ closure: @escaping () -> Void) {
        closures.append(closure)
    }

    func runAll() {
        let nowhere = unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
        var batch: [UnownedJob] = []
        while !jobs.isEmpty {
            swap(&batch, &jobs)
            for job in batch { job.runSynchronously(on: nowhere) }
            batch.removeAll(keepingCapacity: true)
            while let closure = closures.popLast() { closure() }
        }
    }
}

struct Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
    static var defaultExecutor: any TaskExecutor { Floor.shared }
}

/// What the runtime alone takes for an `await queue.run {}`: a handler for the cancellation, a suspension, and somebody else who ends it.
func runTrips() async {
    let count = 20_000
    var best = Double.infinity
    for _ in 0..<21 {
        let start = ContinuousClock.now
        for _ in 0..<count { try? await trip() }
        best = min(best, start.duration(to: .now) / .nanoseconds(1) / Double(count))
    }
    Workload.say("run-trips \(Int(best.rounded()))")
}

@concurrent func trip() async throws {
    try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
            Floor.shared.later { continuation.resume() }
        }
    } onCancel: {}
}

_createExecutors(factory: Factory.self)
for name in CommandLine.arguments.dropFirst() {
    Task.detached {
        if name == "run-trips" { return await runTrips() }
        guard let cost = try? await Benchmark.measure(name) else { return Workload.say("no row \(name)") }
        Workload.say("\(name) \(Int(cost.rounded()))")
    }
    Floor.shared.runAll()
}
