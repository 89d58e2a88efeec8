internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What `exit()` does to an app that is the process: it ends in order, on whatever thread it was called.
enum ExitHandler {
    private static let lifecycle = Locked<Lifecycle?>(nil)

    static func install(for lifecycle: Lifecycle) {
        let isFirst = ExitHandler.lifecycle.withLock { held in
            defer { held = lifecycle }
            return held == nil
        }
        if isFirst { atexit { ExitHandler.run() } }
    }

    /// Called by exit(): the calling thread comes back to no task.
    private static func run() {
        guard let lifecycle = lifecycle.withLock({ $0 }), lifecycle.state.withLock({ $0.report == nil }) else { return }
        let here = currentThread()
        // A Swift task that a body left behind has a copy of `current`: a task that is up has no body under way, and is stopped.
        let inherited = AppTask.current.flatMap { $0.place == .up ? nil : $0 }
        let task = inherited ?? lifecycle.living.tasks.first { $0.mainThread.load(ordering: .relaxed) == here }
        lifecycle.state.withLock { $0.exiting = task.map { $0.index - 1 } }
        let over = WaitGroup()
        over.enter()
        lifecycle.whenEnded { _ in over.leave() }
        lifecycle.end(.exitCalled)
        over.wait()
    }
}
