internal import CClockWatching
internal import Dispatch
internal import OverdriveCore
internal import Synchronization

/// The wall clock, and the timers that have to know that it was set.
///
/// A descriptor of the kernel's tells that; libdispatch watches it. Where there is none, timers keep their distance to the
/// moment at which they were set.
final class WallClock: Sendable {
    /// Nanoseconds since 1970.
    let now: @Sendable () -> Int64

    private let timers = Locked<[ObjectIdentifier: WallTimer]>([:])

    init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    /// The machine's, watched from its first timer on.
    static let shared: WallClock = {
        let clock = WallClock { DispatchWallTime.now().since1970 ?? .max }
        let descriptor = od_clock_watch_open()
        guard descriptor >= 0 else { return clock }
        let watch = Dispatch.DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: watching)
        watch.setEventHandler {
            // First: what happens after the clock has been read is told again.
            od_clock_watch_again(descriptor)
            clock.wasSet()
            withExtendedLifetime(watch) {}
        }
        watch.activate()
        return clock
    }()

    /// The engine's time at which this clock will say `time`, as it stands; never early.
    func due(_ time: Int64) -> Int64 {
        // The engine's clock is read after this one, and of three times the one that was interrupted least counts.
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
        // The last reference may go with it, outside of the lock.
        _ = timers.withLock(orAnew: [:]) { $0.removeValue(forKey: ObjectIdentifier(timer)) }
    }

    /// Has every timer look at the clock again.
    func wasSet() {
        for timer in timers.withLock(orAnew: [:], { Array($0.values) }) { timer.arm() }
    }
}

/// A timer of the engine's that keeps times of the wall clock, however that is set meanwhile.
// What changes is changed in the section.
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
    /// Counts how often it was armed, so that a tick of an older time is known.
    private var round = 0
    private var isOver = false

    /// Starts one.
    ///
    /// - Parameters:
    ///   - queue: Where `body` is called.
    ///   - first: The first time, in nanoseconds since 1970.
    ///   - interval: In nanoseconds; 0: only once.
    ///   - body: Gets the number of times that have passed since its last call.
    @discardableResult
    init(
        _ clock: WallClock, on queue: TaskQueue, at first: Int64, every interval: Int64 = 0, qos: TaskQueue.QoS? = nil,
        flags: TaskQueue.Flags = [], _ body: @escaping @Sendable (UInt) -> Void
    ) {
        self.clock = clock
        self.queue = queue
        // What it takes over is this thread's; it may be armed again on another one.
        self.qos = TaskQueue.QoS.asked(qos, flags)
        self.flags = flags.subtracting([.inheritQoS, .noQoS])
        self.interval = interval
        self.body = body
        next = first
        // Before the clock is read: if it is set in between, this is armed again.
        clock.add(self)
        arm()
    }

    /// Starts it, or starts it again, as the clock stands.
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

    /// What the engine's timer calls, and has no more once it is over, or was taken back with what its queue had.
    private final class Call: Sendable {
        private let timer: WallTimer
        private let round: Int

        init(of timer: WallTimer, _ round: Int) { (self.timer, self.round) = (timer, round) }

        deinit { timer.end(of: round) }

        func callAsFunction() { timer.tick(round) }
    }

    /// No call comes any more, unless it was armed again.
    func end(of round: Int) {
        end { round == self.round }
    }

    /// How often it is due is for the clock to say, and not for the engine's timer.
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
        // Set back while this was on its way: its time is still to come.
        guard let count else { return arm() }
        guard count > 0 else { return }
        if interval == 0 { cancel() }
        body(UInt(count))
    }

    /// Ends it; a call that has begun goes on.
    func cancel() {
        end { true }
    }

    /// Ends it if it has not ended and is to, which is asked in the section.
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
