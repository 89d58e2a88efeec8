// Owns the executor object that the Swift runtime calls. `GlobalExecutor` installs it. It never runs a job itself.

internal import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

// All code that relies on unpromised properties of the Swift runtime is in this file. A new compiler uses the lower
// half until Tests/PackageTests/GlobalExecutorTests has passed with it.
#if compiler(>=6.3) && compiler(<6.4)
    @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

    /// The executor for all jobs without an executor of the program.
    final class ProcessExecutor: TaskExecutor, SchedulingExecutor {
        private static let shared = ProcessExecutor()

        private struct Factory: ExecutorFactory {
            // Keep the platform's main executor: inside an `async` main function, the runtime would never run another
            // one.
            static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
            static var defaultExecutor: any TaskExecutor { ProcessExecutor.shared }
        }

        /// The reason why the executor cannot be installed, or nil.
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

        /// Whether a library, such as NIO, has set the hook that receives each job instead of the executor.
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

        // The runtime's two clocks use `Swift.Duration`. So do all clocks for which `Task.sleep` calls the executor.
        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
        ) {
            guard let delay = clock.now.duration(to: instant) as? Duration else {
                trap("Task.sleep: the clock's durations are not Swift.Duration (\(C.self)). Use a clock with Swift.Duration.")
            }
            GlobalJobs.enqueue(job, after: delay)
        }
    }

    /// Returns the current priority of a task: its initial priority, or that of an awaiter if higher. The runtime
    /// provides it for `UnsafeCurrentTask.priority`, but it accepts any task, not only the current one. The job must
    /// belong to a task.
    @_silgen_name("swift_task_currentPriority")
    private func presentPriority(_ task: UnownedJob) -> UInt
#else
    /// Reports that the toolchain is unknown.
    enum ProcessExecutor {
        static var obstacle: String? {
            "made for the runtime of Swift 6.3, and built with another compiler"
        }

        static func install() {}
    }
#endif
