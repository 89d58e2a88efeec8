// Owns the one-line descriptions of queues and schedulers. Programs print them; no code parses them.

extension TaskQueue: CustomStringConvertible {
    /// The queue in one line: label, width, quality of service, pending closures and suspension.
    public var description: String {
        let width =
            switch maxConcurrentTaskCount {
            case 1: "serial"
            case TaskQueue.unlimited: "concurrent"
            case let limit: "\(limit) at a time"
            }
        let state = isSuspended ? ", suspended" : ""
        return "TaskQueue \"\(label)\" (\(width), \(qos), \(pendingTaskCount) pending\(state))"
    }
}

extension Scheduler: CustomStringConvertible {
    /// The scheduler in one line: name and number of workers.
    public var description: String {
        "Scheduler \"\(name)\" (workers: \(workerCount))"
    }
}
