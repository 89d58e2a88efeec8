// Owns the submissions of closures and items to a DispatchQueue. Programs call them. They forward to a TaskQueue, to
// its bridged queue, or to libdispatch's main queue.

public import Dispatch
public import OverdriveCore

extension DispatchQueue {
    /// Submits a closure and returns at once. This form without options is the fastest.
    ///
    /// - Parameter work: The closure, which runs once.
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

    /// Submits a closure with options and returns at once.
    ///
    /// - Parameters:
    ///   - group: The group that counts the closure until it has returned.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - flags: The options, such as `.barrier`.
    ///   - work: The closure, which runs once.
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

    /// Submits an item and returns at once. The group counts the item until it has ended.
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
    /// - Parameter work: The closure. It runs on the calling thread, except on `main`.
    /// - Returns: The result of `work`.
    /// - Throws: The error of `work`.
    /// - Threading: Any thread. Traps in a closure of the same serial queue, which would wait for itself.
    /// - Cost: The cost of `TaskQueue.sync`, which is specialised for the closure.
    @inlinable
    public func sync<T, E: Error>(execute work: () throws(E) -> T) throws(E) -> T {
        if hasStandIn { return try syncBesideStandIn([], work) }
        return try taskQueue.sync(execute: work)
    }

    /// Runs a closure with options while the caller waits. A `.barrier` runs alone on a concurrent queue too.
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

    /// Calls `work` for each number below `iterations` on several threads, and returns after the last call.
    ///
    /// - Parameters:
    ///   - iterations: The number of calls. Traps if negative.
    ///   - work: The closure. It is called once for each number from 0, concurrently and in no particular order.
    public static func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {
        withoutActuallyEscaping(work) { work in
            // Dispatch's signature is not `@Sendable`, but the documented behaviour calls the closure on several
            // threads.
            nonisolated(unsafe) let work = work
            TaskQueue.concurrentPerform(iterations: iterations) { unsafe work($0) }
        }
    }

    // MARK: - Later

    /// Submits a closure at a time of the monotonic clock, which stops while the machine is suspended.
    ///
    /// - Parameters:
    ///   - deadline: The time. A past time submits at once, and `.distantFuture` never.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - flags: The options, such as `.barrier`.
    ///   - work: The closure, which runs once.
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

    /// Submits an item at a time of the monotonic clock.
    public func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {
        // An item cancelled before its time is not submitted. Otherwise the item is submitted like any other.
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
    ///   - wallDeadline: The time. A past time submits at once, and `.distantFuture` never.
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - flags: The options, such as `.barrier`.
    ///   - work: The closure, which runs once.
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

/// The queue on which libdispatch reports events. Its closures only forward them.
let watching = Dispatch.DispatchQueue(label: "overdrive.watching")
