// Owns the asynchronous sequence of a timer's ticks. Programs iterate it. It never buffers more than one tick.

internal import Synchronization

extension TaskQueue {
    /// A sequence of a timer's ticks.
    ///
    ///     for await tick in queue.ticks(every: .seconds(5)) {
    ///         if tick.missed > 0 { log("\(tick.missed) beats left out") }
    ///         await send(.alive)
    ///     }
    ///
    /// Each iterator has a timer. The timer is cancelled when the loop is left or its task is cancelled. A slow loop gets
    /// one tick for the time it took, and ``Timer/Tick/missed`` counts the others. `tick.timer.cancel()` and a shutdown of the
    /// scheduler end the sequence.
    ///
    /// - Parameters:
    ///   - interval: The time between two ticks; traps unless it is at least a nanosecond.
    ///   - delay: The time until the first tick; nil: one interval.
    ///   - tolerance: How much later all ticks may come, as of `every(_:after:tolerance:qos:flags:execute:)`.
    ///   - qos: The quality of service of the ticks.
    /// - Returns: The sequence. It starts no timer before a loop asks for the first tick.
    /// - Ordering: Ticks are closures of the queue: a suspended queue delays them.
    /// - Threading: Any task; no thread is held.
    /// - Cost: A timer and a stream for each loop; each tick is a submission.
    public func ticks(
        every interval: Duration, after delay: Duration? = nil, tolerance: Duration = .zero, qos: QoS? = nil
    ) -> Ticks {
        Ticks(queue: self, interval: interval, delay: delay, tolerance: tolerance, qos: qos)
    }

    /// The ticks of a timer, one after another; see ``TaskQueue/ticks(every:after:tolerance:qos:)``.
    public struct Ticks: AsyncSequence, Sendable {
        public typealias Element = Timer.Tick
        public typealias Failure = Never

        let queue: TaskQueue
        let interval: Duration
        let delay: Duration?
        let tolerance: Duration
        let qos: QoS?

        /// The ticks of one loop.
        public struct Iterator: AsyncIteratorProtocol {
            private var stream: AsyncStream<Timer.Tick>.Iterator
            private let source: Source

            init(_ ticks: Ticks) {
                let (stream, continuation) = AsyncStream<Timer.Tick>.makeStream(bufferingPolicy: .bufferingNewest(1))
                let source = Source(continuation)
                let feed = Feed(of: source)
                let timer = ticks.queue.every(
                    ticks.interval, after: ticks.delay, tolerance: ticks.tolerance, qos: ticks.qos
                ) { tick in feed.source.send(tick) }
                continuation.onTermination = { _ in timer.cancel() }
                self.stream = stream.makeAsyncIterator()
                self.source = source
            }

            /// Waits for the next tick; nil when the timer or the calling task has been cancelled.
            ///
            /// - Ordering: In the timer's order.
            /// - Threading: Any task; no thread is held.
            /// - Cost: A suspension.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Timer.Tick? {
                while let tick = await stream.next(isolation: actor) {
                    // None: an earlier tick has told of this one.
                    let count = source.take()
                    if count > 0 { return Timer.Tick(timer: tick.timer, missed: count - 1) }
                }
                return nil
            }
        }

        /// Starts the timer of one loop.
        ///
        /// - Ordering: The delay begins here.
        /// - Threading: Any thread.
        /// - Cost: A timer and a stream.
        public func makeAsyncIterator() -> Iterator { Iterator(self) }

        /// Held by the timer's closure only: the sequence ends when the timer releases the closure.
        private final class Feed: Sendable {
            let source: Source

            init(of source: Source) {
                self.source = source
            }

            deinit { source.end() }
        }

        /// The ticks on their way from the timer to the loop.
        private final class Source: Sendable {
            /// Ticks that the loop has not been told of.
            private let count = Atomic(0)
            private let continuation: AsyncStream<Timer.Tick>.Continuation

            init(_ continuation: AsyncStream<Timer.Tick>.Continuation) {
                self.continuation = continuation
            }

            func send(_ tick: Timer.Tick) {
                count.add(1 + tick.missed, ordering: .relaxed)  // relaxed: the stream orders it
                continuation.yield(tick)
            }

            func take() -> Int { count.exchange(0, ordering: .relaxed) }

            func end() { continuation.finish() }
        }
    }
}
