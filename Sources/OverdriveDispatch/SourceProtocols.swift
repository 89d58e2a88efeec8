public import Dispatch

/// The interface of every source; see ``DispatchSource``.
public protocol DispatchSourceProtocol: AnyObject {
    /// What to call when something has happened; nil: nothing.
    ///
    /// - Parameters:
    ///   - qos: Raises the call above the queue's quality of service.
    ///   - flags: `.barrier` and what else makes it differ from a plain submission.
    ///   - handler: Called on the source's queue, never beside another handler of the source.
    func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// The item to run when something has happened, on the item's own terms.
    func setEventHandler(handler: DispatchWorkItem)

    /// What to call once, when the source has been cancelled and no other handler runs; nil: nothing.
    func setCancelHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// The item to run once, when the source has been cancelled and no other handler runs.
    func setCancelHandler(handler: DispatchWorkItem)

    /// What to call once, when the source has started; nil: nothing.
    func setRegistrationHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// The item to run once, when the source has started.
    func setRegistrationHandler(handler: DispatchWorkItem)

    /// Ends the source: no handler begins any more but the cancel handler. A second call does nothing.
    ///
    /// - Threading: Any thread, its own handlers too. It does not wait for a handler that runs.
    func cancel()

    /// Takes one ``suspend()`` back, or lets a new source start. Traps where there is neither.
    func resume()

    /// Keeps handlers from being called until ``resume()``. Calls nest; a handler that runs goes on.
    func suspend()

    /// Lets a new source start. On one that is active it does nothing.
    func activate()

    /// What the source watches: a descriptor, a signal or a process; 0 for the others.
    var handle: UInt { get }

    /// The events that a process source asks for; 0 for the others.
    var mask: UInt { get }

    /// Of the event that was told last: how often the timer was due, the sum of what was added, the bytes that can be
    /// read, or how often the signal came.
    var data: UInt { get }

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { get }
}

extension DispatchSourceProtocol {
    /// Sets the handler for events.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        setEventHandler(qos: qos, flags: flags, handler: handler)
    }

    /// Sets the handler to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        setCancelHandler(qos: qos, flags: flags, handler: handler)
    }

    /// Sets the handler to call once, when the source has started.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        setRegistrationHandler(qos: qos, flags: flags, handler: handler)
    }
}

/// Tells that a descriptor can be read.
public protocol DispatchSourceRead: DispatchSourceProtocol {}

/// Tells that a descriptor can be written.
public protocol DispatchSourceWrite: DispatchSourceProtocol {}

/// Tells that a signal came.
public protocol DispatchSourceSignal: DispatchSourceProtocol {}

/// Tells that a process has ended.
public protocol DispatchSourceProcess: DispatchSourceProtocol {}

/// Tells the sum of the numbers that it was given.
public protocol DispatchSourceUserDataAdd: DispatchSourceProtocol {
    /// Adds to what the handler will be told; 0 tells nothing.
    func add(data: UInt)
}

/// Tells all bits that it was given.
public protocol DispatchSourceUserDataOr: DispatchSourceProtocol {
    /// Adds bits to what the handler will be told; 0 tells nothing.
    func or(data: UInt)
}

/// Tells the last number that it was given.
public protocol DispatchSourceUserDataReplace: DispatchSourceProtocol {
    /// What the handler will be told, in place of what it was to be; 0 tells nothing.
    func replace(data: UInt)
}

/// Tells that a time has come, once or again and again.
public protocol DispatchSourceTimer: DispatchSourceProtocol {
    /// Sets the times, in place of those before: `deadline`, and then whole intervals from it on.
    func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)

    /// The same with an interval in seconds.
    func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval)

    /// The same on the wall clock, however that is set meanwhile.
    func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)

    /// The same on the wall clock with an interval in seconds.
    func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval)
}

extension DispatchSource: DispatchSourceRead, DispatchSourceWrite, DispatchSourceSignal, DispatchSourceProcess,
    DispatchSourceUserDataAdd, DispatchSourceUserDataOr, DispatchSourceUserDataReplace, DispatchSourceTimer
{}

extension DispatchSourceTimer {
    /// Sets the times, in place of those before: `deadline`, and then whole intervals from it on.
    ///
    /// - Parameters:
    ///   - deadline: The first time, on the machine's clock, which stops while the machine is suspended.
    ///   - interval: Between two times; `.never`: there is only one.
    ///   - leeway: By how much the times may be late, so that several timers come at once. They keep their distance.
    public func schedule(
        deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same with an interval in seconds.
    public func schedule(
        deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same on the wall clock. The timer follows changes of that clock.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// The same on the wall clock with an interval in seconds.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// An older name of one time alone.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(deadline: deadline, repeating: .never, leeway: leeway)
    }

    /// An older name of one time of the wall clock alone.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(wallDeadline: wallDeadline, repeating: .never, leeway: leeway)
    }

    /// An older name of a time and whole intervals from it on.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// An older name of a time and whole intervals from it on.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// An older name of a time of the wall clock and whole intervals from it on.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// An older name of a time of the wall clock and whole intervals from it on.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }
}
