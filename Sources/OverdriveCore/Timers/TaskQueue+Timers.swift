// Owns the calls that create timers on a queue. Programs call them. A waiting timer never polls.

internal import CScheduler

extension TaskQueue {
    /// Submits a closure after a delay.
    ///
    ///     let reminder = queue.asyncAfter(.seconds(30)) { remind() }
    ///     reminder.cancel()
    ///
    /// - Parameters:
    ///   - delay: From now; zero or less is at once. Time in which the machine is suspended does not count.
    ///   - tolerance: How much later the submission may come. Timers with overlapping tolerances may share a wake-up.
    ///   - qos: Raises the closure above the queue's own quality of service, as of ``async(group:qos:flags:execute:)``.
    ///   - flags: ``Flags/barrier`` and other differences from a plain submission. Inherited values come from the
    ///     caller of this function.
    ///   - body: Runs once.
    /// - Returns: The timer, which can cancel the submission. The caller need not retain it.
    /// - Ordering: Never early. At its time the closure is submitted like any other: a suspended queue keeps it, and
    ///   a serial queue runs it in order. If one thread creates two timers for a serial queue, the earlier time runs
    ///   first. A shutdown drops timers that are not due; ``cancelAll()`` leaves them.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures and one short critical section, for any number of
    ///   timers. A waiting timer uses no thread and no CPU.
    @discardableResult
    public func asyncAfter(
        _ delay: Duration, tolerance: Duration = .zero, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.after(delay), every: nil, tolerance: tolerance, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure at a given time.
    ///
    ///     queue.asyncAfter(deadline: .now + .seconds(30)) { giveUp() }
    ///
    /// - Parameters:
    ///   - deadline: The time of the submission; a past time submits at once.
    ///   - tolerance: How much later the submission may come. Timers with overlapping tolerances may share a wake-up.
    ///   - qos: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    ///   - flags: As there.
    ///   - body: Runs once.
    /// - Returns: The timer, which can cancel the submission. The caller need not retain it.
    /// - Ordering: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``. On a serial queue, the earlier of two deadlines runs
    ///   first. The deadlines must be at least 2 µs apart, and both in the future at the time of the calls.
    /// - Threading: Any thread.
    /// - Cost: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    @discardableResult
    public func asyncAfter(
        deadline: ContinuousClock.Instant, tolerance: Duration = .zero, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.at(deadline), every: nil, tolerance: tolerance, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure at a given time of the suspending clock, which stops while the machine is suspended.
    ///
    ///     let deadline = SuspendingClock.now + .seconds(30)
    ///     queue.asyncAfter(deadline: deadline) { giveUp() }
    ///
    /// - Parameters:
    ///   - deadline: The time of the submission; a past time submits at once. Plain `.now` is the continuous clock's.
    ///   - tolerance: How much later the submission may come. Timers with overlapping tolerances may share a wake-up.
    ///   - qos: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    ///   - flags: As there.
    ///   - body: Runs once.
    /// - Returns: The timer, which can cancel the submission. The caller need not retain it.
    /// - Ordering: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    /// - Threading: Any thread.
    /// - Cost: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    @_disfavoredOverload
    @discardableResult
    public func asyncAfter(
        deadline: SuspendingClock.Instant, tolerance: Duration = .zero, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.due(EngineTime.due(deadline)), every: nil, tolerance: tolerance, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure periodically.
    ///
    ///     let heartbeat = queue.every(.seconds(5)) { tick in
    ///         if tick.missed > 0 { log("\(tick.missed) beats left out") }
    ///         send(.alive)
    ///     }
    ///
    /// Calls are due at whole intervals from the first one, regardless of their duration. Calls never overlap: if the
    /// time of a call passes while another one waits or runs, the call is skipped. The next call gets the number of
    /// skipped calls.
    ///
    /// - Parameters:
    ///   - interval: The time between two calls; less than 1 ns traps.
    ///   - delay: The time until the first call; nil for one interval.
    ///   - tolerance: How much later all calls may come. Only the first time is moved.
    ///   - qos: Of each call, as of ``asyncAfter(_:tolerance:qos:flags:execute:)``.
    ///   - flags: The options of each call; see ``asyncAfter(_:qos:flags:execute:)``.
    ///   - body: What to run.
    /// - Returns: The timer, which runs until it is cancelled or the scheduler is shut down. The caller need not
    ///   to it.
    /// - Ordering: As of ``asyncAfter(_:tolerance:qos:flags:execute:)``. ``cancelAll()`` discards the call that waits in the
    ///   queue; the timer continues.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures; each call is a submission without an allocation.
    @discardableResult
    public func every(
        _ interval: Duration, after delay: Duration? = nil, tolerance: Duration = .zero, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping (_ tick: Timer.Tick) -> Void
    ) -> Timer {
        timer(.after(delay ?? interval), every: interval, tolerance: tolerance, qos: qos, flags: flags, body)
    }

    /// Submits a closure periodically, without the number of skipped calls.
    ///
    ///     queue.every(.milliseconds(100)) { redraw() }
    ///
    /// - Ordering: As of ``every(_:after:tolerance:qos:flags:execute:)-(_,_,_,_,_,(TaskQueue.Timer.Tick)->Void)``.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures; each call is a submission without an allocation.
    @discardableResult
    public func every(
        _ interval: Duration, after delay: Duration? = nil, tolerance: Duration = .zero, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.after(delay ?? interval), every: interval, tolerance: tolerance, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure at a time of the engine's clock, CLOCK_MONOTONIC in nanoseconds, and then every `interval`
    /// nanoseconds. With an interval of 0, it is submitted once.
    @discardableResult
    package func timer(
        dueAt due: Int64, every interval: Int64 = 0, qos: QoS?, flags: Flags,
        _ body: sending @escaping (Timer.Tick) -> Void
    ) -> Timer {
        Timer(on: self, first: .due(due), every: interval, qos: qos, flags: flags, body)
    }

    /// Creates a timer. All public timer functions call this one.
    func timer(
        _ first: Timer.First, every interval: Duration?, tolerance: Duration = .zero, qos: QoS?, flags: Flags,
        _ body: sending @escaping (Timer.Tick) -> Void
    ) -> Timer {
        if let interval, interval.nanoseconds < 1 {
            trap("TaskQueue.every: interval too short (\(interval)). Choose 1 ns or more.")
        }
        return Timer(
            on: self, first: first, every: interval?.nanoseconds ?? 0, tolerance: tolerance.nanoseconds, qos: qos,
            flags: flags, body)
    }
}
