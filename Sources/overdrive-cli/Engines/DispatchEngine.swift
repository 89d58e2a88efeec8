internal import Dispatch
internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// Runs closures with libdispatch: a concurrent queue and a group, as most programs on Linux use them.
///
/// The queue has no limit of its width. With a number of jobs, excess closures wait in this object, and each closure
/// that ends submits the next one.
final class DispatchEngine: Engine {
    let name = EngineName.dispatch.rawValue
    let workerCount: Int

    private struct State {
        var waiting = Fifo<@Sendable () -> Void>()
        var running = 0
    }

    private let limit: Int?
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "overdrive.checksum", attributes: .concurrent)
    private let group = DispatchGroup()

    /// - Parameter jobs: The number of closures that run at a time; nil leaves it to libdispatch.
    init(jobs: Int?) {
        limit = jobs
        workerCount = jobs ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        guard let limit else { return queue.async(group: group, execute: work) }
        let isFree = state.withLock { state in
            guard state.running < limit else {
                state.waiting.append(work)
                return false
            }
            state.running += 1
            return true
        }
        if isFree { start(work) }
    }

    func wait() {
        group.wait()
    }

    private func start(_ work: @escaping @Sendable () -> Void) {
        queue.async(group: group) {
            work()
            if let next = self.takeNext() { self.start(next) }
        }
    }

    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.running -= 1 }
            return next
        }
    }
}
