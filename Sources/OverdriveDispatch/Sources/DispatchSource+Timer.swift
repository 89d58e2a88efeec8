// Owns the functions that create timers and set their times. Programs call them. `SourceCore` calls the handlers.

public import Dispatch
internal import OverdriveCore

extension DispatchSource {
    /// Creates a timer, which starts with ``activate()``.
    ///
    /// - Parameters:
    ///   - flags: Has no effect: timers are always as exact as with `.strict`.
    ///   - queue: The queue that runs the handlers; nil for a shared one.
    public static func makeTimerSource(
        flags: TimerFlags = [], queue: DispatchQueue? = nil
    ) -> any DispatchSourceTimer {
        DispatchSource(SourceCore(on: queue))
    }

    /// Sets the times of a timer, in place of earlier ones: `deadline`, and then one after each interval.
    ///
    /// - Parameters:
    ///   - deadline: The first time, on the monotonic clock, which stops while the machine is suspended.
    ///   - interval: The time between two events; `.never` for a single event.
    ///   - leeway: The permitted delay, with which several timers can fire together. The interval does not change.
    public func schedule(
        deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(at: deadline.due, every: interval.nanoseconds, leeway: leeway.nanoseconds)
    }

    /// Sets the times of a timer with an interval in seconds.
    public func schedule(
        deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: DispatchSource.interval(interval), leeway: leeway)
    }

    /// Sets the times of a timer on the wall clock. If that clock is set, the next time moves with it, and missed
    /// times cause one event. The leeway has no effect.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(atWall: wallDeadline.since1970, every: interval.nanoseconds)
    }

    /// Sets the times of a timer on the wall clock with an interval in seconds.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: DispatchSource.interval(interval), leeway: leeway)
    }

    private static func interval(_ seconds: Double) -> DispatchTimeInterval {
        let nanoseconds = seconds * 1e9
        guard nanoseconds < Double(Int.max) else { return .never }  // NaN and infinity also return here.
        return .nanoseconds(Int(max(nanoseconds, 1)))
    }
}
