public import Dispatch
internal import OverdriveCore

/// A closure that can be cancelled, waited for and told of; thin over `WorkItem`.
///
///     let search = DispatchWorkItem { show(index.matches(for: text)) }
///     queue.asyncAfter(deadline: .now() + 0.3, execute: search)
///     search.cancel()
public final class DispatchWorkItem: @unchecked Sendable {
    let item: WorkItem
    let qos: DispatchQoS
    let flags: DispatchWorkItemFlags

    /// An item that runs `block`, once for each submission.
    ///
    /// - Parameters:
    ///   - qos: Raises it above the quality of service of the queue that it is submitted to.
    ///   - flags: How it is submitted.
    ///   - block: What to run.
    public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], block: @escaping () -> Void) {
        // Dispatch's shape does not say that another thread runs it; its meaning does.
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

    /// Submits `execute` to `queue` when the item has ended: at once if it has.
    public func notify(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
        execute: @escaping () -> Void
    ) {
        // The closure is handed from here to the queue, once.
        nonisolated(unsafe) let work = queue.standIn?.around(execute, flags) ?? execute
        item.notify(on: queue.taskQueue, qos: qos.asked, flags: flags.engine) { unsafe work() }
    }

    /// Submits `execute` to `queue` when this one has ended: at once if it has.
    public func notify(queue: DispatchQueue, execute: DispatchWorkItem) {
        if queue.hasStandIn {
            notify(qos: execute.qos, flags: execute.flags, queue: queue) { execute.perform() }
        } else {
            item.notify(on: queue.taskQueue, execute: execute.item)
        }
    }

    /// Cancels the item: no run begins from now on; one that is under way is told by ``isCancelled``.
    public func cancel() {
        item.cancel()
    }

    /// Whether the item was cancelled.
    public var isCancelled: Bool { item.isCancelled }
}
