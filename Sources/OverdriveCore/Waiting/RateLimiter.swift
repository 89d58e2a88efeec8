// Owns the rate limiter. Programs call it. It keeps no waiters: each call reserves its time, and sleeps until then.

internal import CScheduler
internal import Synchronization

/// A limit on the number of calls in a time, such as requests to a server.
///
///     let limit = RateLimiter(10, per: .seconds(1), burst: 3)
///     for url in urls {
///         try await limit.acquire()
///         queue.async { fetch(url) }
///     }
///     // Three start at once, and the others 100 ms apart.
///
/// A limiter earns permits evenly and keeps at most `burst` of them. Any time `t` sees at most `burst + t / interval * count`
/// permits.
///
/// - Ordering: Calls get their permits in the order in which they begin, threads and tasks alike.
/// - Threading: Any thread.
/// - Cost: A reading of the clock and one locked instruction, if no thread must wait.
/// - Source: The generic cell rate algorithm, ITU-T I.371.
public final class RateLimiter: Sendable {
    /// The result of a wait with a timeout.
    public typealias WaitResult = WaitGroup.WaitResult

    private let count: UInt64
    private let interval: UInt64
    private let burst: Int
    /// The time that earns a full burst.
    private let slack: Int64
    /// When the permits that have been taken will all be earned, in the engine's time. The past: a full burst is free.
    /// Tests read it.
    let earned = Atomic(Int64.min)

    /// Creates a limiter with a full burst.
    ///
    /// - Parameters:
    ///   - count: The number of permits that are earned in `interval`, at least 1.
    ///   - interval: The time in which they are earned, at least a nanosecond.
    ///   - burst: The number of permits that an idle limiter keeps, at least 1. With 1, permits are evenly spaced.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public init(_ count: Int, per interval: Duration, burst: Int = 1) {
        if count < 1 { trap("RateLimiter(_:per:): a count below 1 (\(count)). Give a positive number.") }
        if interval.nanoseconds < 1 { trap("RateLimiter(_:per:): an interval below 1 ns (\(interval)). Give a longer one.") }
        if burst < 1 { trap("RateLimiter(_:per:burst:): a burst below 1 (\(burst)). Give a positive number.") }
        self.burst = burst
        self.count = UInt64(count)
        self.interval = UInt64(interval.nanoseconds)
        slack = RateLimiter.time(UInt64(burst), UInt64(count), UInt64(interval.nanoseconds))
    }

    /// Takes permits if they are free now.
    ///
    ///     guard limit.tryAcquire() else { return busy() }
    ///
    /// - Parameter count: The number of permits. More than the burst are never free at once.
    /// - Returns: Whether the permits were taken.
    /// - Ordering: A call never takes a permit for which an earlier call waits.
    /// - Threading: Any thread; never blocks.
    /// - Cost: A reading of the clock and one locked instruction.
    public func tryAcquire(_ count: Int = 1) -> Bool {
        reserve(count, within: 0) != nil
    }

    /// Takes permits, or sleeps until they are earned.
    ///
    /// - Parameter count: The number of permits, 0 or more; a negative number traps.
    /// - Ordering: In the order in which calls begin.
    /// - Threading: Any thread. A spare replaces a sleeping worker.
    /// - Cost: As of ``tryAcquire(_:)`` where they are free; else a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await acquire()")
    public func acquire(_ count: Int = 1) {
        if let reservation = reserve(count, within: .max) { sleep(until: reservation.due) }
    }

    /// Takes permits, or sleeps until they are earned, if that is within a time.
    ///
    ///     guard limit.acquire(timeout: .milliseconds(50)) == .success else { return busy() }
    ///
    /// - Parameters:
    ///   - count: The number of permits, 0 or more; a negative number traps.
    ///   - timeout: The longest sleep; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` at once if the permits will be earned later than that.
    /// - Ordering: In the order in which calls begin.
    /// - Threading: Any thread. A spare replaces a sleeping worker.
    /// - Cost: As of ``tryAcquire(_:)`` where they are free; else a sleep in the kernel.
    @available(*, noasync, message: "it blocks the thread: write await acquire(timeout:)")
    public func acquire(_ count: Int = 1, timeout: Duration) -> WaitResult {
        guard let reservation = reserve(count, within: timeout.nanoseconds) else { return .timedOut }
        sleep(until: reservation.due)
        return .success
    }

    /// Takes permits, or suspends until they are earned.
    ///
    /// - Parameter count: The number of permits, 0 or more; a negative number traps.
    /// - Throws: `CancellationError` when the calling task is cancelled. The permits return if no later call has
    ///   reserved any; otherwise they lapse.
    /// - Ordering: In the order in which calls begin.
    /// - Threading: Blocks no thread.
    /// - Cost: As of ``tryAcquire(_:)`` where they are free; else a suspension.
    public func acquire(_ count: Int = 1) async throws {
        _ = try await acquire(count, within: .max)
    }

    /// Takes permits, or suspends until they are earned, if that is within a time.
    ///
    /// - Parameters:
    ///   - count: The number of permits, 0 or more; a negative number traps.
    ///   - timeout: The longest suspension; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` at once if the permits will be earned later than that.
    /// - Throws: `CancellationError` when the calling task is cancelled, as of ``acquire(_:)``.
    /// - Ordering: In the order in which calls begin.
    /// - Threading: Blocks no thread.
    /// - Cost: As of ``tryAcquire(_:)`` where they are free; else a suspension.
    public func acquire(_ count: Int = 1, timeout: Duration) async throws -> WaitResult {
        try await acquire(count, within: timeout.nanoseconds)
    }

    private func acquire(_ count: Int, within longest: Int64) async throws -> WaitResult {
        try Task.checkCancellation()
        guard let reservation = reserve(count, within: longest) else { return .timedOut }
        do {
            // A sleep may end early by the difference between the two clocks.
            while case let left = reservation.due - od_timer_now(), left > 0 { try await Task.sleep(for: .nanoseconds(left)) }
        } catch {
            // relaxed: the word orders nothing else.
            _ = earned.compareExchange(
                expected: reservation.earned, desired: reservation.earned - reservation.cost, ordering: .relaxed)
            throw error
        }
        return .success
    }

    /// A reservation of permits.
    private struct Reservation {
        /// When the permits may be used.
        let due: Int64
        /// When the limiter has earned these permits and all earlier ones.
        let earned: Int64
        /// The time that earns these permits.
        let cost: Int64
    }

    /// Reserves permits. Returns nil if they are earned later than `longest` from now.
    private func reserve(_ count: Int, within longest: Int64) -> Reservation? {
        if count < 0 { trap("RateLimiter.acquire(_:): a negative number of permits (\(count)). Give 0 or more.") }
        let cost = RateLimiter.time(UInt64(count), self.count, interval)
        let now = od_timer_now()
        var seen = earned.load(ordering: .relaxed)  // relaxed throughout: the word orders nothing else
        while true {
            let begin = max(seen, now), end = begin + min(cost, .max - begin)
            let due = max(now, end - slack)
            if due - now > longest { return nil }
            let (exchanged, found) = earned.weakCompareExchange(expected: seen, desired: end, ordering: .relaxed)
            if exchanged { return Reservation(due: due, earned: end, cost: end - begin) }
            seen = found
        }
    }

    /// The time that earns `permits`, rounded up: the rate is never exceeded.
    private static func time(_ permits: UInt64, _ count: UInt64, _ interval: UInt64) -> Int64 {
        let (high, low) = permits.multipliedFullWidth(by: interval)
        guard high < count else { return .max / 2 }
        let (quotient, rest) = count.dividingFullWidth((high, low))
        return Int64(clamping: min(quotient, UInt64(Int64.max / 2 - 1)) + (rest > 0 ? 1 : 0))
    }

    /// Has no permits: a wait for one is a sleep, during which a spare may replace the worker.
    private static let bed = CountingSemaphore(value: 0)

    private func sleep(until due: Int64) {
        while case let left = due - od_timer_now(), left > 0 { _ = RateLimiter.bed.wait(timeout: .nanoseconds(left)) }
    }
}

extension RateLimiter: CustomStringConvertible {
    /// The limiter in one line: its rate and its burst.
    public var description: String {
        "RateLimiter (\(count) per \(Duration.nanoseconds(Int64(interval))), burst: \(burst))"
    }
}
