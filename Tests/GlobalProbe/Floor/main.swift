// The floor of the runtime: an executor that appends to an array and runs on one thread, with timers that are due at once.
internal import ProbeWork
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

/// Used on the first thread alone, which is why nothing in it is locked.
final class Floor: TaskExecutor, SchedulingExecutor, @unchecked Sendable {
    static let shared = Floor()
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at: C.Instant, tolerance: C.Duration?, clock: C) {
        enqueue(job)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after: C.Duration, tolerance: C.Duration?, clock: C) {
        enqueue(job)
    }

    func runAll() {
        let nowhere = unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
        var batch: [UnownedJob] = []
        while !jobs.isEmpty {
            swap(&batch, &jobs)
            for job in batch { job.runSynchronously(on: nowhere) }
            batch.removeAll(keepingCapacity: true)
        }
    }
}

struct Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
    static var defaultExecutor: any TaskExecutor { Floor.shared }
}

_createExecutors(factory: Factory.self)
for name in CommandLine.arguments.dropFirst() {
    Task.detached {
        guard let cost = try? await Benchmark.measure(name) else { return Workload.say("no row \(name)") }
        Workload.say("\(name) \(Int(cost.rounded()))")
    }
    Floor.shared.runAll()
}
