public import Dispatch
internal import OverdriveCore

extension DispatchSource {
    /// A timer, which starts with ``activate()``.
    ///
    /// - Parameters:
    ///   - flags: Timers are always as exact as `.strict` asks for.
    ///   - queue: Where the handlers run; nil: a shared one.
    public static func makeTimerSource(
        flags: TimerFlags = [], queue: DispatchQueue? = nil
    ) -> any DispatchSourceTimer {
        DispatchSource(SourceCore(on: queue))
    }

    /// Sets a timer's times, in place of those before: `deadline`, and then whole intervals from it on.
    ///
    /// - Parameters:
    ///   - deadline: The first time, on the machine's clock, which stops while the machine is suspended.
    ///   - interval: Between two times; `.never`: there is only one.
    ///   - leeway: By how much the times may be late, so that several timers come at once. They keep their distance.
    public func schedule(
        deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(at: deadline.due, every: interval.nanoseconds, leeway: leeway.nanoseconds)
    }

    /// The same with an interval in seconds.
    public func schedule(
        deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: DispatchSource.interval(interval), leeway: leeway)
    }

    /// The same on the wall clock. If that clock is set, the next time moves with it, and missed times come as one
    /// event. Times are kept exactly, whatever the leeway.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(atWall: wallDeadline.since1970, every: interval.nanoseconds)
    }

    /// The same on the wall clock with an interval in seconds.
    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: DispatchSource.interval(interval), leeway: leeway)
    }

    private static func interval(_ seconds: Double) -> DispatchTimeInterval {
        let nanoseconds = seconds * 1e9
        guard nanoseconds < Double(Int.max) else { return .never }  // NaN and infinity come here too.
        return .nanoseconds(Int(max(nanoseconds, 1)))
    }
}
