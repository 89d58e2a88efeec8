internal import OverdriveCore

/// The executor that every async function of the process runs on, unless it prefers another one.
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
/// Without it tasks run on libdispatch's threads, and Overdrive's workers run those that prefer a scheduler. With it
/// tasks, actors, task groups and sleeps run on the workers of `Scheduler.shared`, beside the closures of its queues. The
/// main actor stays on the main thread.
///
/// - Ordering: Jobs of one priority start in the order in which they were enqueued from one thread. Priorities are
///   bands; see `TaskQueue.QoS`.
public enum GlobalExecutor {
    private static let state = Locked(false)

    /// Whether this process's tasks run on Overdrive.
    public static var isInstalled: Bool {
        state.withLock { $0 }
    }

    /// Has every task from now on run on `Scheduler.shared`.
    ///
    /// Call it first thing in `main`, or in a library's initialiser. It may come later: jobs that wait in the pool
    /// of before run there, and their tasks come over at their next suspension.
    ///
    /// - Returns: Whether tasks run on Overdrive now. If not, the program is unchanged, and one sentence gives the
    ///   reason (`Scheduler.onWarning`): an unknown Swift runtime, another executor of the process, or a library that
    ///   uses the runtime's hook. A second call returns true and does nothing.
    /// - Threading: Any thread. Swift's runtime reads its executors without a lock: a call while other threads enqueue is
    ///   safe as far as a store of two words is.
    /// - Cost: About 1 ms, once; no thread is started before the first job.
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

/// For the library that programs preload, which finds it by this name.
@_spi(Preload)
@_cdecl("overdrive_global_install")
public func overdriveGlobalInstall() -> Bool {
    GlobalExecutor.install()
}

/// How many jobs and closures the preloaded scheduler has run, for `scripts/run-preloaded`.
@_spi(Preload)
@_cdecl("overdrive_global_executed")
public func overdriveGlobalExecuted() -> UInt64 {
    UInt64(Scheduler.shared.metrics.executed)
}
