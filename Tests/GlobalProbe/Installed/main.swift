// A program that installs the executor in its source. Each argument is a step; the rest is the workload's.
internal import Glibc
internal import OverdriveCore
internal import OverdriveGlobal
internal import ProbeInitialiser
internal import ProbeWork
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

initialiser_is_linked()
for name in CommandLine.arguments.dropFirst() {
    switch name {
    case "install": Workload.say("install \(GlobalExecutor.install()) \(GlobalExecutor.isInstalled)")
    case "take-hook": Workload.takeHook()
    case "other-executor": installOther()
    case "tasks-first": Workload.say("before \(await Task.detached { Workload.floor() }.value)")
    case "fork": fork(inChild: await Task.detached { Workload.floor() }.value)
    case "exit": atexit { Task.detached { Workload.say("never seen, or whole") } }
    case "stopped-scheduler": await stoppedScheduler()
    case "spares":
        let metrics = Scheduler.shared.metrics
        Workload.say("spares at most \(metrics.mostSpares), limit reached \(metrics.spareCapReached > 0)")
    case "mixed": await Mixed.run()
    case "preference": try await Preference.run()
    case "pool-runs": try await PoolRuns.run()
    default: if try await !Workload.run(name), await !Trips.measure(name) { Workload.say("no workload \(name)") }
    }
}

/// A child without exec: its tasks run on workers of its own.
func fork(inChild before: String) {
    typealias Fork = @convention(c) () -> pid_t
    guard let address = dlsym(nil, "fork") else { return }
    // What waits in the parent's low bands is no business of the child's.
    let parent = getpid()
    for _ in 0..<10_000 {
        Task.detached(priority: .utility) { if getpid() != parent { Workload.say("stray") } }
    }
    let child = unsafeBitCast(address, to: Fork.self)()
    if child == 0 {
        let done = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        done.initialize(to: 0)
        nonisolated(unsafe) let flag = done
        Task.detached(priority: .utility) {
            try? await Task.sleep(for: .milliseconds(1))
            Workload.say("child \(Workload.floor())")
            flag.pointee = 1
            _exit(0)
        }
        while true { sleep(1) }
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    Workload.say("parent \(before), child's status \(status)")
}

/// Tasks that prefer a scheduler which has been shut down run where tasks without a preference do.
func stoppedScheduler() async {
    guard let scheduler = try? Scheduler(workers: 1, name: "stopped") else { return }
    await scheduler.shutdown(timeout: .zero)
    let seen = await Task(executorPreference: scheduler) { Workload.floor() }.value
    Workload.say("stopped scheduler's task \(seen)")
}

/// Somebody else's executor, which hands everything to the platform's.
final class OtherExecutor: TaskExecutor, SchedulingExecutor {
    static let shared = OtherExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        PlatformExecutorFactory.defaultExecutor.enqueue(job)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at: C.Instant, tolerance: C.Duration?, clock: C) {
        PlatformExecutorFactory.defaultExecutor.enqueue(job)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after: C.Duration, tolerance: C.Duration?, clock: C) {
        PlatformExecutorFactory.defaultExecutor.enqueue(job)
    }
}

func installOther() {
    struct Factory: ExecutorFactory {
        static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
        static var defaultExecutor: any TaskExecutor { OtherExecutor.shared }
    }
    _createExecutors(factory: Factory.self)
}
