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

    public func schedule(
        deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(at: deadline.due, every: interval.nanoseconds, leeway: leeway.nanoseconds)
    }

    public func schedule(
        deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: DispatchSource.interval(interval), leeway: leeway)
    }

    public func schedule(
        wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        core.schedule(atWall: wallDeadline.since1970, every: interval.nanoseconds)
    }

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
