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
    private static let life = Locked<Lifecycle?>(nil)

    static func install(for life: Lifecycle) {
        let isFirst = ExitHandler.life.withLock { held in
            defer { held = life }
            return held == nil
        }
        if isFirst { atexit { ExitHandler.run() } }
    }

    /// Called by exit(): the calling thread comes back to no task.
    private static func run() {
        guard let life = life.withLock({ $0 }), life.state.withLock({ $0.report == nil }) else { return }
        let here = currentThread()
        let task = AppTask.current ?? life.living.tasks.first { $0.mainThread.load(ordering: .relaxed) == here }
        life.state.withLock { $0.exiting = task.map { $0.index - 1 } }
        let over = WaitGroup()
        over.enter()
        life.whenEnded { _ in over.leave() }
        life.end(.exitCalled)
        over.wait()
    }
}
