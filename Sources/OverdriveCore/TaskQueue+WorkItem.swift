extension TaskQueue {
    /// Submits an item and returns at once.
    ///
    ///     queue.async(group: group, execute: item)
    ///
    /// - Parameters:
    ///   - group: Counts this submission until it has run, is skipped or is taken back.
    ///   - item: What to run, with its own quality of service and flags.
    /// - Ordering: As a closure's.
    /// - Cost: One allocation of 32 bytes.
    public func async(group: WaitGroup? = nil, execute item: WorkItem) {
        let submission = WorkItem.Submission(of: item)
        async(group: group, qos: item.qos) { submission.run() }
    }

    /// Runs an item in the queue's order, on the calling thread.
    ///
    /// - Parameter item: What to run; nothing when it was cancelled.
    /// - Ordering: As a closure's.
    public func sync(execute item: WorkItem) {
        sync { item.perform() }
    }
}
