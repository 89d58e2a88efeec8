// Owns timers of the wall clock. Sources and `asyncAfter(wallDeadline:)` create them. They use the engine's timers,
// and are rearmed when the clock is set.

internal import CClockWatching
internal import Dispatch
internal import OverdriveCore
internal import Synchronization

/// The wall clock, and the timers that must be rearmed when it is set.
///
/// libdispatch watches a kernel descriptor that reports changes of the clock. Without the descriptor, timers keep the
/// delay from their creation.
final class WallClock: Sendable {
    /// Returns the time in nanoseconds since 1970.
    let now: @Sendable () -> Int64

    private let timers = Locked<[ObjectIdentifier: WallTimer]>([:])

    init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    /// The machine's clock, which is watched from the first timer on.
    static let shared: WallClock = {
        let clock = WallClock { DispatchWallTime.now().since1970 ?? .max }
        let descriptor = od_clock_watch_open()
        guard descriptor >= 0 else { return clock }
        let watch = Dispatch.DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: watching)
        watch.setEventHandler {
            // Rearm the descriptor before reading the clock, so that a later change is reported again.
            od_clock_watch_again(descriptor)
            clock.wasSet()
            withExtendedLifetime(watch) {}
        }
        watch.activate()
        return clock
    }()

    /// Returns the monotonic time at which this clock will show `time` if it is not set. The result is never too
    /// early.
    func due(_ time: Int64) -> Int64 {
        // The monotonic clock is read after this one. The smallest of three differences is the one with the shortest
        // interruption.
        func ahead() -> Int64 {
            let wall = now()
            return DispatchTime.now().due &- wall
        }
        let (sum, overflow) = time.addingReportingOverflow(min(ahead(), ahead(), ahead()))
        return overflow ? .max : sum
    }

    func add(_ timer: WallTimer) {
        timers.withLock(orAnew: [:]) { $0[ObjectIdentifier(timer)] = timer }
    }

    func remove(_ timer: WallTimer) {
        // The last reference to the timer may be released here, outside the lock.
        _ = timers.withLock(orAnew: [:]) { $0.removeValue(forKey: ObjectIdentifier(timer)) }
    }

    /// Rearms all timers.
    func wasSet() {
        for timer in timers.withLock(orAnew: [:], { Array($0.values) }) { timer.arm() }
    }
}

/// A timer of the wall clock, which follows changes of that clock.
// The section guards all changes.
final class WallTimer: @unchecked Sendable {
    private let clock: WallClock
    private let queue: TaskQueue
    private let qos: TaskQueue.QoS?
    private let flags: TaskQueue.Flags
    private let interval: Int64
    private let body: @Sendable (UInt) -> Void

    private let section = CriticalSection()
    private var next: Int64
    private var timer: TaskQueue.Timer?
    /// The number of times that the timer was armed. Ticks of an older arming are ignored.
    private var round = 0
    private var isOver = false

    /// Creates and starts a timer.
    ///
    /// - Parameters:
    ///   - queue: The queue that calls `body`.
    ///   - first: The first time, in nanoseconds since 1970.
    ///   - interval: The interval in nanoseconds; 0 for a single call.
    ///   - body: The closure, which receives the number of due times since its last call.
    @discardableResult
    init(
        _ clock: WallClock, on queue: TaskQueue, at first: Int64, every interval: Int64 = 0, qos: TaskQueue.QoS? = nil,
        flags: TaskQueue.Flags = [], _ body: @escaping @Sendable (UInt) -> Void
    ) {
        self.clock = clock
        self.queue = queue
        // The inherited quality of service comes from this thread. A later arming may happen on another thread.
        self.qos = TaskQueue.QoS.asked(qos, flags)
        self.flags = flags.subtracting([.inheritQoS, .noQoS])
        self.interval = interval
        self.body = body
        next = first
        // Added before the clock is read, so that a change in between rearms the timer.
        clock.add(self)
        arm()
    }

    /// Starts or restarts the engine's timer for the current state of the clock.
    func arm() {
        let plan: (Int, Int64)? = section {
            guard !isOver else { return nil }
            round += 1
            return (round, next)
        }
        guard let (round, next) = plan else { return }
        let call = Call(of: self, round)
        let new = queue.timer(dueAt: clock.due(next), every: interval, qos: qos, flags: flags) { _ in call() }
        let old: TaskQueue.Timer? = section {
            guard !isOver, round == self.round else { return new }
            defer { timer = new }
            return timer
        }
        old?.cancel()
    }

    /// The closure of the engine's timer. Its deinitialiser ends the timer when the engine's timer has ended or its
    /// queue has discarded it.
    private final class Call: Sendable {
        private let timer: WallTimer
        private let round: Int

        init(of timer: WallTimer, _ round: Int) { (self.timer, self.round) = (timer, round) }

        deinit { timer.end(of: round) }

        func callAsFunction() { timer.tick(round) }
    }

    /// Ends the timer, unless it was armed again.
    func end(of round: Int) {
        end { round == self.round }
    }

    /// Calls `body`. The wall clock decides how many times are due, not the engine's timer.
    private func tick(_ round: Int) {
        let count: Int64? = section {
            guard !isOver, round == self.round else { return 0 }
            let late = clock.now().subtractingReportingOverflow(next).partialValue
            guard late >= 0 else { return nil }
            guard interval > 0 else { return 1 }
            let count = late / interval + 1
            let (after, overflow) = next.addingReportingOverflow(count.multipliedReportingOverflow(by: interval).partialValue)
            next = overflow ? .max : after
            return count
        }
        // The clock was set back after the engine's timer fired, so the time is still to come.
        guard let count else { return arm() }
        guard count > 0 else { return }
        if interval == 0 { cancel() }
        body(UInt(count))
    }

    /// Cancels the timer. A call that is under way continues.
    func cancel() {
        end { true }
    }

    /// Ends the timer once, if `isDue` returns true inside the section.
    private func end(if isDue: () -> Bool) {
        let old: TaskQueue.Timer?? = section {
            guard !isOver, isDue() else { return nil }
            isOver = true
            defer { timer = nil }
            return .some(timer)
        }
        guard let old else { return }
        old?.cancel()
        clock.remove(self)
    }
}
