public import Dispatch
public import OverdriveCore

extension TaskQueue {
    /// A queue whose closures run on a dispatch queue, for code that has to share one.
    ///
    ///     let queue = TaskQueue(queue: legacy.workQueue)
    ///     queue.async(group: group) { legacy.save() }
    ///     await queue.drained()
    ///
    /// The dispatch queue decides order, width and threads. Groups, work items, timers, `run`, `drained()` and
    /// specific values are Overdrive's. `pendingTaskCount` and `drained()` cover submissions through this queue.
    /// Suspending, limiting and cancelling trap, because only the dispatch queue could do this.
    ///
    /// - Parameter queue: Where closures run. `DispatchQueue.main` gives a queue like `TaskQueue.main`.
    /// - Ordering: The dispatch queue's.
    /// - Threading: Any thread. `sync` from a serial dispatch queue's own closures is what libdispatch makes
    ///   of it: a trap without a message.
    /// - Cost: A submission costs libdispatch's and one allocation.
    public convenience init(queue: DispatchQueue) {
        self.init(dispatching: queue)
    }
}
