public import Dispatch

/// What every source can do; see ``DispatchSource``.
public protocol DispatchSourceProtocol: AnyObject {
    func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
    func setEventHandler(handler: DispatchWorkItem)
    func setCancelHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
    func setCancelHandler(handler: DispatchWorkItem)
    func setRegistrationHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
    func setRegistrationHandler(handler: DispatchWorkItem)
    func cancel()
    func resume()
    func suspend()
    func activate()
    var handle: UInt { get }
    var mask: UInt { get }
    var data: UInt { get }
    var isCancelled: Bool { get }
}

extension DispatchSourceProtocol {
    /// What to call when something has happened.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        setEventHandler(qos: qos, flags: flags, handler: handler)
    }

    /// What to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        setCancelHandler(qos: qos, flags: flags, handler: handler)
    }

    /// What to call once, when the source has started.
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
    func add(data: UInt)
}

/// Tells all bits that it was given.
public protocol DispatchSourceUserDataOr: DispatchSourceProtocol {
    func or(data: UInt)
}

/// Tells the last number that it was given.
public protocol DispatchSourceUserDataReplace: DispatchSourceProtocol {
    func replace(data: UInt)
}

/// Tells that a time has come, once or again and again.
public protocol DispatchSourceTimer: DispatchSourceProtocol {
    func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
    func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval)
    func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
    func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval)
}

extension DispatchSource: DispatchSourceRead, DispatchSourceWrite, DispatchSourceSignal, DispatchSourceProcess,
    DispatchSourceUserDataAdd, DispatchSourceUserDataOr, DispatchSourceUserDataReplace, DispatchSourceTimer
{}

extension DispatchSourceTimer {
    /// Sets the times, in place of those before: `deadline`, and then whole intervals from it on.
    ///
    /// - Parameters:
    ///   - deadline: The first time, on the machine's clock, which stands still while the machine is suspended.
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

    /// The same on the wall clock, however that is set meanwhile.
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

    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(deadline: deadline, repeating: .never, leeway: leeway)
    }

    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(wallDeadline: wallDeadline, repeating: .never, leeway: leeway)
    }

    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }
}
