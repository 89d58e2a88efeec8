// Owns the initializer of a TaskQueue on a dispatch queue. Programs call it. OverdriveCore implements the queue.

public import Dispatch
public import OverdriveCore

extension TaskQueue {
    /// Creates a queue whose closures run on a dispatch queue, for code that must share one.
    ///
    ///     let queue = TaskQueue(queue: legacy.workQueue)
    ///     queue.async(group: group) { legacy.save() }
    ///     await queue.drained()
    ///
    /// The dispatch queue decides order, width and threads. Overdrive implements groups, work items, timers, `run`,
    /// `drained()` and specific values. `pendingTaskCount` and `drained()` cover submissions through this queue.
    /// Suspending, limiting and cancelling trap, because only the dispatch queue could do this.
    ///
    /// - Parameter queue: The dispatch queue. `DispatchQueue.main` gives a queue like `TaskQueue.main`.
    /// - Ordering: The order of the dispatch queue.
    /// - Threading: Any thread. A `sync` inside a closure of the same serial dispatch queue traps in libdispatch
    ///   without a message.
    /// - Cost: A submission costs one allocation more than in libdispatch.
    public convenience init(queue: DispatchQueue) {
        self.init(dispatching: queue)
    }
}
