// Owns the protocols of sources, with Dispatch's names. `DispatchSource` conforms to all of them.

public import Dispatch

/// The interface of every source; see ``DispatchSource``.
public protocol DispatchSourceProtocol: AnyObject {
    /// Sets the handler for events; nil removes it.
    ///
    /// - Parameters:
    ///   - qos: The quality of service, if it is higher than the queue's.
    ///   - flags: The options, such as `.barrier`.
    ///   - handler: The closure. It runs on the source's queue, never at the same time as another handler of the
    ///     source.
    func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// Sets the item to run for each event, with the item's options.
    func setEventHandler(handler: DispatchWorkItem)

    /// Sets the handler to call once, after a cancel, when no other handler runs; nil removes it.
    func setCancelHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// Sets the item to run once, after a cancel, when no other handler runs.
    func setCancelHandler(handler: DispatchWorkItem)

    /// Sets the handler to call once when the source has started; nil removes it.
    func setRegistrationHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)

    /// Sets the item to run once when the source has started.
    func setRegistrationHandler(handler: DispatchWorkItem)

    /// Cancels the source. No further handler begins, except the cancel handler. A second call has no effect.
    ///
    /// - Threading: Any thread, including the source's handlers. The call does not wait for a running handler.
    func cancel()

    /// Reverts one call of ``suspend()``, or starts a new source. Traps if neither applies.
    func resume()

    /// Prevents calls of handlers until ``resume()``. Calls nest, and a running handler continues.
    func suspend()

    /// Starts a new source. Has no effect on an active source.
    func activate()

    /// The watched descriptor, signal or process; 0 for other sources.
    var handle: UInt { get }

    /// The events that a process source watches; 0 for other sources.
    var mask: UInt { get }

    /// The data of the last event: the number of due times, the sum of added values, the readable bytes, or the
    /// number of signals.
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

/// A source with an event while a descriptor is readable.
public protocol DispatchSourceRead: DispatchSourceProtocol {}

/// A source with an event while a descriptor is writable.
public protocol DispatchSourceWrite: DispatchSourceProtocol {}

/// A source with an event for each signal.
public protocol DispatchSourceSignal: DispatchSourceProtocol {}

/// A source with an event when a process has ended.
public protocol DispatchSourceProcess: DispatchSourceProtocol {}

/// A source whose data is the sum of added values.
public protocol DispatchSourceUserDataAdd: DispatchSourceProtocol {
    /// Adds a value to the data of the next event. The value 0 has no effect.
    func add(data: UInt)
}

/// A source whose data is the union of added bits.
public protocol DispatchSourceUserDataOr: DispatchSourceProtocol {
    /// Adds bits to the data of the next event. The value 0 has no effect.
    func or(data: UInt)
}

/// A source whose data is the last value passed to it.
public protocol DispatchSourceUserDataReplace: DispatchSourceProtocol {
    /// Replaces the data of the next event. The value 0 causes no event.
    func replace(data: UInt)
}

/// A source with an event at one time or at regular times.
public protocol DispatchSourceTimer: DispatchSourceProtocol {
    /// Sets the times, in place of earlier ones: `deadline`, and then one after each interval.
    func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)

    /// Sets the times with an interval in seconds.
    func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval)

    /// Sets the times on the wall clock. The timer follows changes of that clock.
    func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)

    /// Sets the times on the wall clock with an interval in seconds.
    func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval)
}

extension DispatchSource: DispatchSourceRead, DispatchSourceWrite, DispatchSourceSignal, DispatchSourceProcess,
    DispatchSourceUserDataAdd, DispatchSourceUserDataOr, DispatchSourceUserDataReplace, DispatchSourceTimer
{}

extension DispatchSourceTimer {
    /// Sets the times, in place of earlier ones: `deadline`, and then one after each interval.
    ///
    /// - Parameters:
    ///   - deadline: The first time, on the monotonic clock, which stops while the machine is suspended.
    ///   - interval: The time between two events; `.never` for a single event.
    ///   - leeway: The permitted delay, with which several timers can fire together. The interval does not change.
    public func schedule(
        deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets the times with an interval in seconds.
    public func schedule(
        deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets the times on the wall clock. The timer follows changes of that clock.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Sets the times on the wall clock with an interval in seconds.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Sets a single time; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(deadline: deadline, repeating: .never, leeway: leeway)
    }

    /// Sets a single time of the wall clock; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(wallDeadline: wallDeadline, repeating: .never, leeway: leeway)
    }

    /// Sets a first time and an interval; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets a first time and an interval in seconds; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Sets a first time of the wall clock and an interval; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Sets a first time of the wall clock and an interval in seconds; an older name.
    @available(swift, deprecated: 4, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }
}
