internal import CScheduler
internal import Dispatch

extension TaskQueue {
    /// A closure that is submitted later, once or again and again.
    ///
    ///     let timer = queue.every(.seconds(1)) { print("still here") }
    ///     timer.cancel()
    ///
    /// A timer lives until its last call, whether it is kept or not, and keeps its queue. It is made by
    /// ``TaskQueue/asyncAfter(_:qos:flags:execute:)`` and `TaskQueue/every(_:after:qos:flags:execute:)`.
    ///
    /// - Ordering: What one call wrote is visible to the next, and after ``cancel()`` returned
    ///   ``Cancellation/wasOver``.
    /// - Threading: Safe from any thread.
    @safe public final class Timer: Sendable {
        /// One call of a timer.
        public struct Tick: Sendable {
            /// The timer whose call this is.
            public let timer: Timer

            /// How many calls were left out since the last one, because their time passed while it waited or ran.
            public let missed: Int
        }

        /// The state that ``cancel()`` found.
        public enum Cancellation: Sendable {
            /// The next call will not begin.
            case prevented
            /// A call runs right now, perhaps the one that cancels. It is the last.
            case running
            /// No call was pending: the last one has finished, or the timer had been cancelled.
            case wasOver
        }

        /// When the first call is to come.
        enum First {
            case after(Duration)
            case at(ContinuousClock.Instant)
            /// By the engine's clock, CLOCK_MONOTONIC in nanoseconds; `.max` is never.
            case due(Int64)
        }

        private let queue: TaskQueue
        // Of the calls on a dispatch queue; the engine's timer knows its own.
        private let qos: QoS?
        private let flags: Flags
        // Written once, before the timer is started; the engine's timer is safe to share between threads.
        private nonisolated(unsafe) var handle: OpaquePointer?
        // The engine calls `call` and `over` one after the other, each after what the one before has written.
        private nonisolated(unsafe) var body: ((Tick) -> Void)?

        init(
            on queue: TaskQueue, first: First, every interval: Int64, qos: QoS?, flags: Flags,
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
            unsafe options.interval_ns = interval
            unsafe options.call = { context, missed in unsafe Timer.of(context)?.call(missed) }
            unsafe options.over = { context in unsafe Timer.of(context)?.over() }
            // The engine's reference, until `over`.
            let context = unsafe Unmanaged.passRetained(self).toOpaque()
            unsafe options.context = context
            switch queue.route {
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

        /// The timer is due: its call waits on the dispatch queue like any other closure there.
        private func deliver() {
            guard case .dispatch(let route) = queue.route else { return }
            route.async(group: nil, qos: qos, flags: flags) {
                if let handle = unsafe self.handle { unsafe od_timer_perform(handle) }
            }
        }

        /// Calls the timer off: no call begins after this has returned.
        ///
        ///     if timer.cancel() == .running { group.wait() }
        ///
        /// It waits for nothing: from inside the timer's own closure it returns ``Cancellation/running``.
        ///
        /// - Returns: What it found.
        /// - Ordering: After `.prevented` and `.wasOver` nothing of the timer runs; what its calls wrote is visible.
        /// - Threading: Any thread.
        /// - Cost: One short critical section.
        @discardableResult
        public func cancel() -> Cancellation {
            guard let handle = unsafe handle else { return .wasOver }
            switch unsafe od_timer_cancel(handle) {
            case OD_TIMER_PREVENTED: return .prevented
            case OD_TIMER_RUNS: return .running
            default: return .wasOver
            }
        }

        /// Whether calls were called off: by ``cancel()``, by ``TaskQueue/cancelAll()`` for the only call of a
        /// timer, or by a shutdown. False for one whose calls are over by themselves.
        public var isCancelled: Bool {
            guard let handle = unsafe handle else { return false }
            return unsafe od_timer_is_cancelled(handle)
        }
    }
}
