internal import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

// All that rests on what the Swift runtime does not promise stands in this file. A new compiler takes the lower half
// until Tests/PackageTests/GlobalExecutorTests has been seen to pass with it.
#if compiler(>=6.3) && compiler(<6.4)
    @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

    /// What the runtime calls for every job that belongs to no executor of the program's own.
    final class ProcessExecutor: TaskExecutor, SchedulingExecutor {
        private static let shared = ProcessExecutor()

        private struct Factory: ExecutorFactory {
            // A main executor of ours inside an `async` main function would never be run.
            static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
            static var defaultExecutor: any TaskExecutor { ProcessExecutor.shared }
        }

        /// Why the process's executor cannot be ours.
        static var obstacle: String? {
            if isHookTaken {
                return "another library has taken over swift_task_enqueueGlobal_hook"
            }
            let present = _Concurrency.Task<Never, Never>.defaultExecutor
            guard present === PlatformExecutorFactory.defaultExecutor else {
                return "the process has an executor already, a \(type(of: present))"
            }
            return nil
        }

        /// Whoever sets this hook, as NIO can, gets each job instead of the executor.
        private static var isHookTaken: Bool {
            guard let hook = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
            return unsafe hook.load(as: UnsafeRawPointer?.self) != nil
        }

        static func install() {
            GlobalJobs.prepare(
                priority: { job in JobPriority(rawValue: UInt8(truncatingIfNeeded: presentPriority(job))) }, at: 96)
            _createExecutors(factory: Factory.self)
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let isTask = job.kind == .task
            GlobalJobs.enqueue(job, isTask: isTask)
        }

        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
        ) {
            guard let delay = delay as? Duration else {
                return enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock)
            }
            GlobalJobs.enqueue(job, after: delay)
        }

        // The runtime's two clocks count in seconds, and so does every clock that `Task.sleep` can be asked for
        // without sleeping by itself.
        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
        ) {
            guard let delay = clock.now.duration(to: instant) as? Duration else {
                trap("Task.sleep: the clock's durations are not Swift.Duration (\(C.self)). Use a clock with Swift.Duration.")
            }
            GlobalJobs.enqueue(job, after: delay)
        }
    }

    /// The runtime's own door for `UnsafeCurrentTask.priority`, which the one that a task is inside of need not be for: the
    /// priority that the task was made with, or a higher one of somebody who awaits it. The job has to be a task's.
    @_silgen_name("swift_task_currentPriority")
    private func presentPriority(_ task: UnownedJob) -> UInt
#else
    /// A toolchain that nobody has tried this with.
    enum ProcessExecutor {
        static var obstacle: String? {
            "made for the runtime of Swift 6.3, and built with another compiler"
        }

        static func install() {}
    }
#endif
