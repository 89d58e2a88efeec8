public import Dispatch
internal import OverdriveCore

/// Counts work that is under way, so that somebody can wait for all of it; thin over `WaitGroup`.
///
///     let group = DispatchGroup()
///     for file in files { queue.async(group: group) { convert(file) } }
///     group.notify(queue: .main) { show(files) }
public final class DispatchGroup: DispatchObject, @unchecked Sendable {
    let group = WaitGroup()

    /// A group in which nothing is under way.
    public override init() {}

    /// Counts one piece of work that is not a queue's closure. It ends with ``leave()``.
    public func enter() {
        group.enter()
    }

    /// Ends what ``enter()`` began. Traps when nothing was entered.
    public func leave() {
        group.leave()
    }

    /// Waits until nothing is under way.
    public func wait() {
        group.wait()
    }

    /// Waits until nothing is under way, but no longer than until `timeout`.
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    /// Waits until nothing is under way, but no longer than until `timeout`.
    public func wait(wallTimeout timeout: DispatchWallTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    private func wait(_ limit: Duration?) -> DispatchTimeoutResult {
        guard let limit else {
            group.wait()
            return .success
        }
        return group.wait(timeout: limit).dispatched
    }

    /// Submits `work` to `queue` once, when nothing is under way: at once if nothing is.
    public func notify(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
        execute work: @escaping () -> Void
    ) {
        // The closure is handed from here to the queue, once.
        nonisolated(unsafe) let work = queue.standIn?.around(work, flags) ?? work
        group.notify(on: queue.taskQueue, qos: qos.asked, flags: flags.engine) { unsafe work() }
    }

    /// Submits `work` to `queue` once, when nothing is under way: at once if nothing is.
    public func notify(queue: DispatchQueue, work: DispatchWorkItem) {
        if queue.hasStandIn {
            notify(qos: work.qos, flags: work.flags, queue: queue) { work.perform() }
        } else {
            group.notify(on: queue.taskQueue, execute: work.item)
        }
    }
}
