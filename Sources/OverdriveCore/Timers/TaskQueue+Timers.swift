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
    ///   - flags: ``Flags/barrier`` and what else makes it differ from a plain submission. What it takes over
    ///     from its submitter is that of who calls this.
    ///   - body: What to run, once.
    /// - Returns: The timer, with which the closure can be called off. It need not be kept.
    /// - Ordering: Never before its time. Then the closure is submitted like any other: a suspended queue
    ///   keeps it, a serial one runs it in its order; of two timers that one thread made for a serial queue
    ///   the one due first runs first. A shutdown drops what is not due yet, and ``cancelAll()`` leaves it.
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
    /// - Ordering: As of ``asyncAfter(_:qos:flags:execute:)``; of two deadlines on a serial queue, two microseconds
    ///   or more apart, the earlier one runs first, whoever asked first and whatever came between, if neither had
    ///   passed by then.
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
    /// - Returns: The timer. It goes on until it is cancelled or the scheduler is shut down, whether it is kept
    ///   or not.
    /// - Ordering: As with ``asyncAfter(_:qos:flags:execute:)``. ``cancelAll()`` takes back the call that waits in the
    ///   queue; the timer goes on.
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
            trap("TaskQueue.every: the interval is \(interval): choose a nanosecond or more")
        }
        return Timer(
            on: self, first: first, every: interval?.nanoseconds ?? 0, qos: qos, flags: flags, body)
    }
}
