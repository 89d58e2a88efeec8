// Owns the drop-in work item over a WorkItem. Programs create it; queues and groups run it.

public import Dispatch
internal import OverdriveCore

/// Wraps a closure that can be cancelled, waited for and followed by a notification. It wraps `WorkItem`.
///
///     let search = DispatchWorkItem { show(index.matches(for: text)) }
///     queue.asyncAfter(deadline: .now() + 0.3, execute: search)
///     search.cancel()
public final class DispatchWorkItem: @unchecked Sendable {
    let item: WorkItem
    let qos: DispatchQoS
    let flags: DispatchWorkItemFlags

    /// Creates an item that runs `block` once for each submission.
    ///
    /// - Parameters:
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - flags: The options of a submission.
    ///   - block: The closure.
    public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], block: @escaping () -> Void) {
        // Dispatch's signature is not `@Sendable`, but another thread may run the closure.
        nonisolated(unsafe) let block = block
        self.qos = qos
        self.flags = flags
        item = WorkItem(qos: qos.asked, flags: flags.engine) { unsafe block() }
    }

    /// Runs the block now, on the calling thread, unless the item was cancelled.
    public func perform() {
        item.perform()
    }

    /// Waits until the item has ended.
    public func wait() {
        item.wait()
    }

    /// Waits until the item has ended, but no longer than until `timeout`.
    public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
        wait(timeout.fromNow)
    }

    /// Waits until the item has ended, but no longer than until `wallTimeout`.
    public func wait(wallTimeout: DispatchWallTime) -> DispatchTimeoutResult {
        wait(wallTimeout.fromNow)
    }

    private func wait(_ limit: Duration?) -> DispatchTimeoutResult {
        guard let limit else {
            item.wait()
            return .success
        }
        return item.wait(timeout: limit).dispatched
    }

    /// Submits `execute` to `queue` when the item has ended; at once if it has ended.
    public func notify(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
        execute: @escaping () -> Void
    ) {
        // The closure is passed from this thread to the queue, which calls it once.
        nonisolated(unsafe) let work = queue.standIn?.around(execute, flags) ?? execute
        item.notify(on: queue.taskQueue, qos: qos.asked, flags: flags.engine) { unsafe work() }
    }

    /// Submits `execute` to `queue` when this item has ended; at once if it has ended.
    public func notify(queue: DispatchQueue, execute: DispatchWorkItem) {
        if queue.hasStandIn {
            notify(qos: execute.qos, flags: execute.flags, queue: queue) { execute.perform() }
        } else {
            item.notify(on: queue.taskQueue, execute: execute.item)
        }
    }

    /// Cancels the item. No later run begins; a running block can read ``isCancelled``.
    public func cancel() {
        item.cancel()
    }

    /// Whether the item was cancelled.
    public var isCancelled: Bool { item.isCancelled }
}
