// Owns the drop-in group over a WaitGroup. Programs and submissions call it.

public import Dispatch
internal import OverdriveCore

/// Counts unfinished work, so that a thread can wait for all of it. It wraps `WaitGroup`.
///
///     let group = DispatchGroup()
///     for file in files { queue.async(group: group) { convert(file) } }
///     group.notify(queue: .main) { show(files) }
public final class DispatchGroup: DispatchObject, @unchecked Sendable {
    let group = WaitGroup()

    /// Creates an empty group.
    public override init() {}

    /// Adds one unit of work that is not a closure of a queue. ``leave()`` removes it.
    public func enter() {
        group.enter()
    }

    /// Removes a unit of work added by ``enter()``. Traps if the group is empty.
    public func leave() {
        group.leave()
    }

    /// Waits until the group is empty.
    public func wait() {
        group.wait()
    }

    /// Waits until the group is empty, but at most until `timeout`.
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    /// Waits until the group is empty, but at most until `timeout`.
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

    /// Submits `work` to `queue` once, when the group is empty; at once if it is empty now.
    public func notify(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
        execute work: @escaping () -> Void
    ) {
        // The closure is passed from this thread to the queue, which calls it once.
        nonisolated(unsafe) let work = queue.standIn?.around(work, flags) ?? work
        group.notify(on: queue.taskQueue, qos: qos.asked, flags: flags.engine) { unsafe work() }
    }

    /// Submits `work` to `queue` once, when the group is empty; at once if it is empty now.
    public func notify(queue: DispatchQueue, work: DispatchWorkItem) {
        if queue.hasStandIn {
            notify(qos: work.qos, flags: work.flags, queue: queue) { work.perform() }
        } else {
            group.notify(on: queue.taskQueue, execute: work.item)
        }
    }
}
