internal import CScheduler

extension TaskQueue {
    /// Whether the calling thread runs one of the queue's closures, however deep.
    var isCurrent: Bool {
        switch route {
        case .engine(let queue, _): od_queue_is_current(queue)
        case .main: TaskQueue.isOnMain
        }
    }
}
