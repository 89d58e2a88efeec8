public import Dispatch
public import OverdriveCore

extension DispatchQueue {
    /// Submits a closure and returns at once: the form that nearly all submissions have, which looks at no terms.
    ///
    /// - Parameter work: Runs once.
    @preconcurrency
    public func async(execute work: __owned @escaping @Sendable () -> Void) {
        if let standIn {
            taskQueue.async(execute: standIn.around(work, []))
        } else if let mainItself {
            mainItself.async(execute: work)
        } else {
            taskQueue.async(execute: work)
        }
    }

    /// Submits a closure on terms and returns at once.
    ///
    /// - Parameters:
    ///   - group: Counts the closure until it is done.
    ///   - qos: Raises the closure above the queue's own quality of service.
    ///   - flags: `.barrier` and what else makes it differ from a plain submission.
    ///   - work: Runs once.
    @preconcurrency
    public func async(
        group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
        execute work: __owned @escaping @Sendable () -> Void
    ) {
        if let standIn {
            taskQueue.async(group: group?.group, qos: qos.asked, flags: flags.engine, execute: standIn.around(work, flags))
        } else if let mainItself, group == nil {
            mainItself.async(qos: qos, flags: flags, execute: work)
        } else {
            taskQueue.async(group: group?.group, qos: qos.asked, flags: flags.engine, execute: work)
        }
    }

    /// Submits an item and returns at once.
    public func async(execute workItem: DispatchWorkItem) {
        submit(workItem, group: nil)
    }

    /// Submits an item that a group counts, and returns at once.
    public func async(group: DispatchGroup, execute workItem: DispatchWorkItem) {
        submit(workItem, group: group)
    }

    private func submit(_ workItem: DispatchWorkItem, group: DispatchGroup?) {
        if let standIn {
            let work = standIn.around({ workItem.perform() }, workItem.flags)
            taskQueue.async(
                group: group?.group, qos: workItem.item.qos, flags: workItem.item.flags, execute: work)
        } else {
            taskQueue.async(group: group?.group, execute: workItem.item)
        }
    }

    /// Runs a closure in the queue's order while the caller waits, and returns its result.
    ///
    /// - Parameter work: Runs on the calling thread, but for `main`'s.
    /// - Throws: What `work` throws.
    /// - Threading: On a serial queue's own closures it would wait for itself: it traps.
    /// - Cost: What it costs on `TaskQueue`: the closure is specialised where it is written.
    @inlinable
    public func sync<T, E: Error>(execute work: () throws(E) -> T) throws(E) -> T {
        if hasStandIn { return try syncBesideStandIn([], work) }
        return try taskQueue.sync(execute: work)
    }

    /// The same with flags: as a `.barrier` it runs alone on a concurrent queue too.
    @inlinable
    public func sync<T, E: Error>(flags: DispatchWorkItemFlags, execute work: () throws(E) -> T) throws(E) -> T {
        if hasStandIn { return try syncBesideStandIn(flags, work) }
        return try taskQueue.sync(flags: flags.engine, execute: work)
    }

    @usableFromInline
    func syncBesideStandIn<T, E: Error>(_ flags: DispatchWorkItemFlags, _ work: () throws(E) -> T) throws(E) -> T {
        try taskQueue.sync(flags: flags.engine) { () throws(E) -> T in
            guard let standIn else { return try work() }
            return try standIn.sync(flags, work)
        }
    }

    /// Runs an item in the queue's order while the caller waits.
    public func sync(execute workItem: DispatchWorkItem) {
        sync(flags: workItem.flags) { workItem.perform() }
    }

    /// Runs `work` for each number below `iterations`, on several threads, and returns when all is done.
    ///
    /// - Parameters:
    ///   - iterations: How many; a negative number traps.
    ///   - work: Called once for each number from 0, in no order, on several threads at once.
    public static func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {
        withoutActuallyEscaping(work) { work in
            // Dispatch's shape does not say that it runs on several threads; its meaning does.
            nonisolated(unsafe) let work = work
            TaskQueue.concurrentPerform(iterations: iterations) { unsafe work($0) }
        }
    }

    // MARK: - Later

    /// Submits a closure at a time of the machine's clock, which stops while the machine is suspended.
    ///
    /// - Parameters:
    ///   - deadline: When; a time that has passed is at once, `.distantFuture` never.
    ///   - qos: As of ``async(group:qos:flags:execute:)``.
    ///   - flags: As there.
    ///   - work: Runs once.
    @preconcurrency
    public func asyncAfter(
        deadline: DispatchTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
        execute work: __owned @escaping @Sendable () -> Void
    ) {
        if let mainItself {
            mainItself.asyncAfter(deadline: deadline, qos: qos, flags: flags, execute: work)
            return
        }
        let body = standIn?.around(work, flags) ?? work
        taskQueue.timer(dueAt: deadline.due, qos: qos.asked, flags: flags.engine) { _ in body() }
    }

    /// Submits an item at a time of the machine's clock.
    public func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {
        // An item that is cancelled before its time ends there; one whose time comes is submitted like any other.
        guard let left = deadline.fromNow else { return }
        guard hasStandIn else {
            taskQueue.asyncAfter(left, execute: execute.item)
            return
        }
        asyncAfter(deadline: deadline, qos: execute.qos, flags: execute.flags) { execute.perform() }
    }

    /// Submits a closure at a time of the wall clock. The timer follows changes of that clock.
    ///
    /// - Parameters:
    ///   - wallDeadline: When; a time that has passed is at once, `.distantFuture` never.
    ///   - qos: As of ``async(group:qos:flags:execute:)``.
    ///   - flags: As there.
    ///   - work: Runs once.
    @preconcurrency
    public func asyncAfter(
        wallDeadline: DispatchWallTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
        execute work: @escaping @Sendable () -> Void
    ) {
        if let mainItself {
            mainItself.asyncAfter(wallDeadline: wallDeadline, qos: qos, flags: flags, execute: work)
            return
        }
        guard let time = wallDeadline.since1970 else { return }
        let body = standIn?.around(work, flags) ?? work
        WallTimer(.shared, on: taskQueue, at: time, qos: qos.asked, flags: flags.engine) { _ in body() }
    }

    /// Submits an item at a time of the wall clock.
    public func asyncAfter(wallDeadline: DispatchWallTime, execute: DispatchWorkItem) {
        asyncAfter(wallDeadline: wallDeadline, qos: execute.qos, flags: execute.flags) { execute.perform() }
    }
}

/// Where libdispatch tells of what it watches: nothing runs there but the handing over.
let watching = Dispatch.DispatchQueue(label: "overdrive.watching")
