// Owns the public switch of the process's executor to Overdrive. Programs and the preload library call it. It never
// switches back.

internal import OverdriveCore

/// Makes `Scheduler.shared` the executor of all async functions that do not prefer another one.
///
///     import OverdriveGlobal
///
///     @main enum Main {
///         static func main() async {
///             GlobalExecutor.install()
///             await serve()
///         }
///     }
///
/// Without it, tasks run on libdispatch's threads, and Overdrive's workers run only tasks that prefer a scheduler.
/// With it, tasks, actors, task groups and sleeps run on the workers of `Scheduler.shared`, together with the
/// closures of its queues. The main actor stays on the main thread.
///
/// - Ordering: Jobs of one priority that one thread enqueues start in order. Priorities map to the bands of
///   `TaskQueue.QoS`.
public enum GlobalExecutor {
    private static let state = Locked(false)

    /// Whether the tasks of this process run on Overdrive.
    public static var isInstalled: Bool {
        state.withLock { $0 }
    }

    /// Makes all tasks run on `Scheduler.shared` from now on.
    ///
    /// Call it first in `main`, or in a library's initialiser. A later call is allowed: jobs that already wait in the
    /// previous pool run there, and their tasks move at their next suspension.
    ///
    /// - Returns: Whether tasks now run on Overdrive. If false, the program is unchanged, and a warning gives the reason
    ///   (`Scheduler.onWarning`). Possible reasons are an unknown Swift runtime, another executor of the process, or a
    ///   library that uses the runtime's hook. A second call returns true and has no effect.
    /// - Threading: Any thread. The Swift runtime reads its executors without a lock. So a call while other threads
    ///   enqueue jobs is only as safe as a plain store of two words.
    /// - Cost: About 1 ms, once; no thread starts before the first job.
    /// - Note: A pending task of `.utility` or `.background` is raised if a task of higher priority awaits it.
    ///   Pending tasks of higher bands are not raised.
    @discardableResult
    public static func install() -> Bool {
        let obstacle = state.withLock { isInstalled -> String? in
            if isInstalled { return nil }
            if let obstacle = ProcessExecutor.obstacle { return obstacle }
            ProcessExecutor.install()
            isInstalled = true
            return nil
        }
        guard let obstacle else { return true }
        warn("GlobalExecutor.install(): \(obstacle); tasks run where they ran before")
        return false
    }
}

/// Installs the executor for the preload library, which looks up this symbol.
@_spi(Preload)
@_cdecl("overdrive_global_install")
public func overdriveGlobalInstall() -> Bool {
    GlobalExecutor.install()
}

/// Returns the number of executed jobs and closures, for `scripts/run-preloaded`.
@_spi(Preload)
@_cdecl("overdrive_global_executed")
public func overdriveGlobalExecuted() -> UInt64 {
    UInt64(Scheduler.shared.metrics.executed)
}
