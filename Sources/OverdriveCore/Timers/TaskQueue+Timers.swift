internal import CScheduler

extension TaskQueue {
    /// Submits a closure after a delay.
    ///
    ///     let reminder = queue.asyncAfter(.seconds(30)) { remind() }
    ///     reminder.cancel()
    ///
    /// - Parameters:
    ///   - delay: From now; zero or less is at once. Time in which the machine is suspended does not count.
    ///   - qos: Raises the closure above the queue's own quality of service, as of ``async(group:qos:flags:execute:)``.
    ///   - flags: ``Flags/barrier`` and other differences from a plain submission. Inherited values come from the
    ///     caller of this function.
    ///   - body: What to run, once.
    /// - Returns: The timer, with which the closure can be called off. It need not be kept.
    /// - Ordering: Never before its time. The closure is then submitted like any other: a suspended queue keeps it,
    ///   and a serial one runs it in order. If one thread made two timers for a serial queue, the one due first runs
    ///   first. A shutdown drops timers that are not due; ``cancelAll()`` leaves them.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures and one short critical section, whatever
    ///   number of timers there is. Waiting costs nothing: no thread, no tick.
    @discardableResult
    public func asyncAfter(
        _ delay: Duration, qos: QoS? = nil, flags: Flags = [], execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.after(delay), every: nil, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure at a time.
    ///
    ///     queue.asyncAfter(deadline: .now + .seconds(30)) { giveUp() }
    ///
    /// - Parameters:
    ///   - deadline: When; a time that has passed is at once.
    ///   - qos: As of ``asyncAfter(_:qos:flags:execute:)``.
    ///   - flags: As there.
    ///   - body: What to run, once.
    /// - Returns: The timer, with which the closure can be called off. It need not be kept.
    /// - Ordering: As of ``asyncAfter(_:qos:flags:execute:)``. On a serial queue, the earlier of two deadlines runs
    ///   first. The deadlines must be at least two microseconds apart and both in the future when requested.
    /// - Threading: Any thread.
    /// - Cost: As of ``asyncAfter(_:qos:flags:execute:)``.
    @discardableResult
    public func asyncAfter(
        deadline: ContinuousClock.Instant, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.at(deadline), every: nil, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure again and again.
    ///
    ///     let heartbeat = queue.every(.seconds(5)) { tick in
    ///         if tick.missed > 0 { log("\(tick.missed) beats left out") }
    ///         send(.alive)
    ///     }
    ///
    /// The closure's times are whole intervals from the first one on, however long its calls take. Calls never
    /// overlap: those whose time passes while one waits or runs are left out, and the next one says how many.
    ///
    /// - Parameters:
    ///   - interval: Between two calls; traps unless it is at least a nanosecond.
    ///   - delay: Until the first call; nil: one interval.
    ///   - qos: Of each call, as of ``asyncAfter(_:qos:flags:execute:)``.
    ///   - flags: Of each call, as there.
    ///   - body: What to run.
    /// - Returns: The timer. It runs until it is cancelled or the scheduler is shut down, with or without references
    ///   to it.
    /// - Ordering: As of ``asyncAfter(_:qos:flags:execute:)``. ``cancelAll()`` discards the call that waits in the
    ///   queue; the timer continues.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures; each call is a submission and allocates nothing.
    @discardableResult
    public func every(
        _ interval: Duration, after delay: Duration? = nil, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping (_ tick: Timer.Tick) -> Void
    ) -> Timer {
        timer(.after(delay ?? interval), every: interval, qos: qos, flags: flags, body)
    }

    /// Submits a closure again and again, without its asking how often it was left out.
    ///
    ///     queue.every(.milliseconds(100)) { redraw() }
    ///
    /// - Ordering: As of ``every(_:after:qos:flags:execute:)-(_,_,_,_,(TaskQueue.Timer.Tick)->Void)``.
    /// - Threading: Any thread.
    /// - Cost: Two allocations beside the closure's captures; each call is a submission and allocates nothing.
    @discardableResult
    public func every(
        _ interval: Duration, after delay: Duration? = nil, qos: QoS? = nil, flags: Flags = [],
        execute body: sending @escaping () -> Void
    ) -> Timer {
        timer(.after(delay ?? interval), every: interval, qos: qos, flags: flags) { _ in body() }
    }

    /// Submits a closure at a time of the engine's clock, CLOCK_MONOTONIC in nanoseconds, and then every `interval`
    /// nanoseconds; 0: only once.
    @discardableResult
    package func timer(
        dueAt due: Int64, every interval: Int64 = 0, qos: QoS?, flags: Flags,
        _ body: sending @escaping (Timer.Tick) -> Void
    ) -> Timer {
        Timer(on: self, first: .due(due), every: interval, qos: qos, flags: flags, body)
    }

    /// The door for everything that is submitted later.
    func timer(
        _ first: Timer.First, every interval: Duration?, qos: QoS?, flags: Flags,
        _ body: sending @escaping (Timer.Tick) -> Void
    ) -> Timer {
        if let interval, interval.nanoseconds < 1 {
            trap("TaskQueue.every: interval too short (\(interval)). Choose 1 ns or more.")
        }
        return Timer(
            on: self, first: first, every: interval?.nanoseconds ?? 0, qos: qos, flags: flags, body)
    }
}
