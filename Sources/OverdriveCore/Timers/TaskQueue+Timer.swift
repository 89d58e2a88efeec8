// Owns the timer object of a queue. `TaskQueue+Timers.swift` creates timers, and the engine calls them. Calls of one
// timer never overlap.

internal import CScheduler
internal import Dispatch

extension TaskQueue {
    /// Submits a closure to a queue later, once or periodically.
    ///
    ///     let timer = queue.every(.seconds(1)) { print("still here") }
    ///     timer.cancel()
    ///
    /// A timer lives until its last call, with or without references to it, and retains its queue. Create timers with
    /// ``TaskQueue/asyncAfter(_:tolerance:qos:flags:execute:)`` and `TaskQueue/every(_:after:tolerance:qos:flags:execute:)`.
    ///
    /// - Ordering: Writes of one call are visible to the next call, and after ``cancel()`` has returned
    ///   ``CancelResult/wasOver``.
    /// - Threading: Any thread.
    @safe public final class Timer: Sendable {
        /// A call of a timer.
        public struct Tick: Sendable {
            /// The timer that makes the call.
            public let timer: Timer

            /// The number of calls skipped since the last one, because it waited or ran at their time.
            public let missed: Int
        }

        /// The state in which ``cancel()`` found the timer.
        public enum CancelResult: Sendable {
            /// The next call will not start.
            case prevented
            /// A call is running, possibly the one that cancels. It is the last.
            case running
            /// No call was pending: the last one has finished, or the timer was already cancelled.
            case wasOver
        }

        /// The time of the first call.
        enum First {
            case after(Duration)
            case at(ContinuousClock.Instant)
            /// A time of the engine's clock, CLOCK_MONOTONIC, in nanoseconds; `.max` means never.
            case due(Int64)
        }

        private let queue: TaskQueue
        // For calls on a dispatch queue. The engine's timer stores its own values.
        private let qos: QoS?
        private let flags: Flags
        // Written once before the start of the timer. The engine's timer is thread-safe.
        private nonisolated(unsafe) var handle: OpaquePointer?
        // The engine calls `call` and `over` one after another, each ordered after the previous one.
        private nonisolated(unsafe) var body: ((Tick) -> Void)?

        init(
            on queue: TaskQueue, first: First, every interval: Int64, tolerance: Int64 = 0, qos: QoS?, flags: Flags,
            isElsewhere: Bool = false,
            _ body: sending @escaping (Tick) -> Void
        ) {
            self.queue = queue
            self.qos = QoS.asked(qos, flags)
            self.flags = flags.subtracting([.inheritQoS, .noQoS])
            unsafe self.body = body
            var options = unsafe od_timer_options()
            switch first {
            case .after(let delay): unsafe options.delay_ns = delay.nanoseconds
            case .at(let deadline): unsafe options.due_ns = EngineTime.due(deadline)
            case .due(let due): unsafe options.due_ns = max(due, 1)
            }
            if tolerance > 0 { unsafe options.align(within: tolerance) }
            unsafe options.interval_ns = interval
            unsafe options.call = { context, missed in unsafe Timer.of(context)?.call(missed) }
            unsafe options.over = { context in unsafe Timer.of(context)?.over() }
            // The reference of the engine, released in `over`.
            let context = unsafe Unmanaged.passRetained(self).toOpaque()
            unsafe options.context = context
            switch queue.route {
            case .engine where isElsewhere:
                unsafe handle = od_timer_create_elsewhere(Scheduler.shared.handle, &options) { _, timer in
                    unsafe od_timer_perform(timer)
                }
            case .engine(let handleOfQueue, _):
                let (band, flags) = queue.engineTerms(qos: qos, flags: flags)
                unsafe handle = od_timer_create_with(handleOfQueue, band, flags, &options)
            case .dispatch:
                unsafe handle = od_timer_create_elsewhere(Scheduler.shared.handle, &options) { context, _ in
                    unsafe Timer.of(context)?.deliver()
                }
            }
            guard let handle = unsafe handle else { trap("TaskQueue.asyncAfter: cannot create a timer (out of memory or threads). Raise the limit.") }
            unsafe od_timer_start(handle)
        }

        /// Calls `body` once, after a time, also if every worker computes. The body must not block: it may run on the
        /// thread that serves late timers.
        static func timeout(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> Timer {
            Timer(on: .global(), first: .after(time), every: 0, qos: nil, flags: [], isElsewhere: true) { _ in body() }
        }

        deinit {
            if let handle = unsafe handle { unsafe od_timer_release(handle) }
        }

        private static func of(_ context: UnsafeMutableRawPointer?) -> Timer? {
            unsafe context.map { unsafe Unmanaged<Timer>.fromOpaque($0).takeUnretainedValue() }
        }

        private func call(_ missed: UInt64) {
            unsafe body?(Tick(timer: self, missed: Int(clamping: missed)))
        }

        private func over() {
            unsafe body = nil
            unsafe Unmanaged.passUnretained(self).release()
        }

        /// Submits a due call to the dispatch queue, where it waits like any other closure.
        private func deliver() {
            guard case .dispatch(let route) = queue.route else { return }
            route.async(group: nil, qos: qos, flags: flags) {
                if let handle = unsafe self.handle { unsafe od_timer_perform(handle) }
            }
        }

        /// Cancels the timer: no call starts after this function has returned.
        ///
        ///     if timer.cancel() == .running { group.wait() }
        ///
        /// It waits for nothing: from inside the timer's own closure it returns ``CancelResult/running``.
        ///
        /// - Returns: The state of the timer before the cancellation.
        /// - Ordering: After `.prevented` and `.wasOver` no call runs, and the writes of earlier calls are visible.
        /// - Threading: Any thread.
        /// - Cost: One short critical section.
        @discardableResult
        public func cancel() -> CancelResult {
            guard let handle = unsafe handle else { return .wasOver }
            switch unsafe od_timer_cancel(handle) {
            case OD_TIMER_PREVENTED: return .prevented
            case OD_TIMER_RUNS: return .running
            default: return .wasOver
            }
        }

        /// Whether pending calls were cancelled: by ``cancel()``, by a shutdown, or by ``TaskQueue/cancelAll()`` for
        /// a timer with one call. False for a timer that has made all of its calls.
        public var isCancelled: Bool {
            guard let handle = unsafe handle else { return false }
            return unsafe od_timer_is_cancelled(handle)
        }
    }
}

extension od_timer_options {
    /// Moves the first time to a multiple of the largest power of two within the tolerance. Timers with such a time in
    /// common are due together, and wake the process once.
    fileprivate mutating func align(within tolerance: Int64) {
        var due = unsafe due_ns
        if due == 0 {
            let (sum, overflow) = unsafe od_timer_now().addingReportingOverflow(max(0, delay_ns))
            due = overflow ? .max : sum
        }
        let step = Int64(1) << (63 - tolerance.leadingZeroBitCount)
        let (late, overflow) = due.addingReportingOverflow(step - 1)
        if due > 0, !overflow { unsafe due_ns = max(1, late & ~(step - 1)) }
    }
}
