public import Dispatch
public import OverdriveCore

extension TaskQueue {
    /// A queue whose closures run on a dispatch queue, for code that has to share one.
    ///
    ///     let queue = TaskQueue(queue: legacy.workQueue)
    ///     queue.async(group: group) { legacy.save() }
    ///     await queue.drained()
    ///
    /// Order, width and threads are the dispatch queue's; groups, work items, timers, `run`, `drained()` and
    /// specific values are Overdrive's. `pendingTaskCount` and `drained()` tell of what was submitted
    /// through this queue. What only the dispatch queue can do, such as suspending, limiting and taking
    /// closures back, traps here with a sentence.
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
