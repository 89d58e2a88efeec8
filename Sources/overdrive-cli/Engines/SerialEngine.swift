internal import Dispatch
internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// Runs closures in order on one thread, to measure the job without a scheduler.
///
/// The thread starts with the first closure and ends after the last one.
final class SerialEngine: Engine {
    let name = EngineName.serial.rawValue
    let workerCount = 1

    private struct State {
        var waiting = Fifo<@Sendable () -> Void>()
        var isRunning = false
    }

    private let state = Mutex(State())
    /// The group contains the thread while it exists.
    private let running = DispatchGroup()

    func submit(_ work: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard starts else { return }
        running.enter()
        if !startThread({ self.drain() }) {
            drain()  // This is slower, but loses no closure.
        }
    }

    func wait() {
        running.wait()
    }

    private func drain() {
        while let work = takeNext() { work() }
        running.leave()
    }

    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}

/// Starts a detached thread that runs `body`. Returns false if no thread can be created.
private func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { box in
            if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
            return nil
        }, box.toOpaque())
    guard status == 0 else {
        box.release()
        return false
    }
    pthread_detach(thread)
    return true
}
