internal import CScheduler

/// What a queue asks of whatever `Overdrive` keeps for the tasks that were added to it.
package protocol TaskKeeping: AnyObject, Sendable {
    /// Tasks of the queue that the engine does not count: they wait for others, or for somebody to finish them.
    var parkedCount: Int { get }

    /// Blocks until ``parkedCount`` was 0.
    func waitForParked()

    /// Suspends until ``parkedCount`` was 0.
    func parkedFinished() async

    /// Cancels the parked tasks that have not started. Returns how many.
    func cancelParked() -> Int
}

extension TaskQueue {
    /// The engine's door for tasks: runs `od_task_run(task)` once, or `od_task_discard(task)` once.
    ///
    /// - Parameters:
    ///   - task: At +1: whichever of the two is called takes it over.
    ///   - qos: Raises the task above the queue's own quality of service.
    ///   - run: What the door runs, for queues that are not the engine's.
    package func submit(
        task: UnsafeMutableRawPointer, qos: QoS?, run: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        switch route {
        case .engine(let queue, _):
            od_queue_async_task(queue, qos?.rawValue ?? -1, task)
        case .dispatch(let route):
            // Handed from here to the dispatch queue, once.
            nonisolated(unsafe) let task = task
            route.async(group: nil) { run(task) }
        }
    }

    /// Where the queue's asynchronous bodies run; nil for the main queue and other dispatch queues.
    package var scheduler: Scheduler? {
        guard case .engine(_, let scheduler) = route else { return nil }
        return scheduler
    }

    /// Whether suspending and limiting are refused.
    package var isEverybodys: Bool { isGlobal }
}
