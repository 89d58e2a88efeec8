// Owns the app's part of `exit()`. The C library calls it. It starts the shutdown and waits for
// the supervisor.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Makes `exit()` on any thread shut the app down in order, if the app owns the process.
enum ExitHandler {
    private static let lifecycle = Locked<Lifecycle?>(nil)

    static func install(for lifecycle: Lifecycle) {
        let isFirst = ExitHandler.lifecycle.withLock { held in
            defer { held = lifecycle }
            return held == nil
        }
        if isFirst { atexit { ExitHandler.run() } }
    }

    /// Runs inside exit(). The calling thread never returns to its task.
    private static func run() {
        guard let lifecycle = lifecycle.withLock({ $0 }), lifecycle.state.withLock({ $0.report == nil }) else { return }
        let here = currentThread()
        // Swift tasks that a body started inherit `current`. A task that is up has no running body and can be
        // stopped, so it is not meant.
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
