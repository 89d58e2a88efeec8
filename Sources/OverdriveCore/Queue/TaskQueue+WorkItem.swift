// Owns the submission of work items to a queue, at once or after a delay. Programs call it. It never retains an item
// after its run.

extension TaskQueue {
    /// Submits an item and returns at once.
    ///
    ///     queue.async(group: group, execute: item)
    ///
    /// - Parameters:
    ///   - group: Counts this submission until it has run, was skipped or was cancelled.
    ///   - item: The item to run, with its own quality of service and flags.
    /// - Ordering: The same as for a closure.
    /// - Threading: Any thread; see ``async(group:qos:flags:execute:)``.
    /// - Cost: One allocation of 32 bytes.
    public func async(group: WaitGroup? = nil, execute item: WorkItem) {
        let submission = WorkItem.Submission(of: item, to: self)
        async(group: group, qos: item.qos, flags: item.flags) { submission.run() }
    }

    /// Runs an item in the queue's order, on the calling thread.
    ///
    /// - Parameter item: The item to run; a cancelled item is skipped.
    /// - Ordering: The same as for a closure.
    /// - Threading: The same as ``sync(flags:execute:)``.
    /// - Cost: The same as ``sync(flags:execute:)``, and two locked instructions.
    public func sync(execute item: WorkItem) {
        sync(flags: item.flags) { item.perform() }
    }
}

extension TaskQueue {
    /// Submits an item after a delay.
    ///
    ///     let search = WorkItem { show(index.matches(for: text)) }
    ///     queue.asyncAfter(.milliseconds(300), execute: search)
    ///
    /// - Parameters:
    ///   - delay: The time from now; zero or less submits the item at once.
    ///   - item: The item to submit then, with its own quality of service and flags. If it is cancelled before, it
    ///     cancelled before.
    /// - Returns: The timer. Its cancellation also cancels the item, unless the item has started.
    /// - Ordering: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    /// - Threading: Any thread.
    /// - Cost: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``, and one allocation.
    @discardableResult
    public func asyncAfter(_ delay: Duration, execute item: WorkItem) -> Timer {
        let submission = WorkItem.Submission(of: item, to: self, isDue: false)
        return asyncAfter(delay, qos: item.qos, flags: item.flags) { [weak self] in submission.run(on: self) }
    }

    /// Submits an item at a given time.
    ///
    /// - Returns: The timer; see ``asyncAfter(_:execute:)``.
    /// - Ordering: As of ``asyncAfter(deadline:tolerance:qos:flags:execute:)``.
    /// - Threading: Any thread.
    /// - Cost: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``, and one allocation.
    @discardableResult
    public func asyncAfter(deadline: ContinuousClock.Instant, execute item: WorkItem) -> Timer {
        let submission = WorkItem.Submission(of: item, to: self, isDue: false)
        return asyncAfter(deadline: deadline, qos: item.qos, flags: item.flags) { [weak self] in submission.run(on: self) }
    }
}
