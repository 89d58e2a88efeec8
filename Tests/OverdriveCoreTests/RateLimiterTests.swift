import Synchronization
import Testing

@testable import OverdriveCore

@Suite("Rate limiter", .timeLimit(.minutes(10)))
struct RateLimiterTests {
    @Test("an_idle_limiter_gives_its_burst_at_once_and_no_more")
    func burst() async throws {
        let limit = RateLimiter(1, per: .seconds(3600), burst: 5)
        #expect(limit.tryAcquire(2))
        #expect(!limit.tryAcquire(4), "Three are left, and a refused call takes none.")
        #expect((0..<8).map { _ in limit.tryAcquire() }.filter { $0 }.count == 3)
        #expect(limit.tryAcquire(0))
        #expect(!RateLimiter(1, per: .seconds(3600), burst: 5).tryAcquire(6), "More than the burst is never free at once.")
        #expect(try await limit.acquire(timeout: .seconds(3500)) == .timedOut)
        #expect(limit.description == "RateLimiter (1 per 3600.0 seconds, burst: 5)")
    }

    @Test("permits_of_threads_and_tasks_never_exceed_the_rate")
    func rate() async {
        let (step, burst, each) = (Duration.microseconds(500), 4, 12)
        let limit = RateLimiter(2, per: step * 2, burst: burst)
        let times = Log<ContinuousClock.Instant>()
        let queue = TaskQueue(scheduler: makeScheduler())
        let begin = ContinuousClock.now
        for _ in 0..<3 {
            queue.async {
                for _ in 0..<each {
                    limit.acquire()
                    times.note(.now)
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<each where (try? await limit.acquire()) != nil { times.note(.now) }
                }
            }
        }
        await queue.drained()
        #expect(times.all.count == 6 * each)
        for (index, time) in times.all.sorted().enumerated() where index >= burst {
            #expect(begin.duration(to: time) >= step * (index - burst + 1) - .microseconds(5), "permit \(index)")
        }
    }

    @Test("rate_of_several_permits_a_nanosecond_is_exact")
    func fine() async throws {
        let limit = RateLimiter(5_400_000_000_000, per: .seconds(3600), burst: 3_000_000_000_000)
        #expect(limit.tryAcquire(3_000_000_000_000))
        #expect(!limit.tryAcquire(1_500_000_000_000), "These take 1,000 s.")
        #expect(try await limit.acquire(1_500_000_000_000, timeout: .seconds(900)) == .timedOut)
        let waiter = Task { try await limit.acquire(1_500_000_000_000, timeout: .seconds(1001)) }
        waiter.cancel()
        await #expect(throws: CancellationError.self, "They take no more.") { try await waiter.value }
    }

    @Test("a_cancelled_await_returns_its_permit_unless_later_calls_have_reserved")
    func cancelled() async throws {
        let limit = RateLimiter(1, per: .seconds(3600))
        #expect(limit.tryAcquire())
        let before = limit.earned.load(ordering: .relaxed)
        let first = await reserved(of: limit)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(limit.earned.load(ordering: .relaxed) == before, "The permit has returned.")

        let (earlier, later) = (await reserved(of: limit), await reserved(of: limit))
        let both = limit.earned.load(ordering: .relaxed)
        earlier.cancel()
        await #expect(throws: CancellationError.self) { try await earlier.value }
        #expect(limit.earned.load(ordering: .relaxed) == both, "The later call keeps its time.")
        later.cancel()
        await #expect(throws: CancellationError.self) { try await later.value }
    }

    /// A task that has reserved a permit, and waits for its time.
    private func reserved(of limit: RateLimiter) async -> Task<Void, any Error> {
        let before = limit.earned.load(ordering: .relaxed)
        let waiter = Task { try await limit.acquire() }
        while limit.earned.load(ordering: .relaxed) == before { await Task.yield() }
        return waiter
    }
}

@Suite("Handlers of a cancellation token", .timeLimit(.minutes(10)))
struct CancellationHandlerTests {
    @Test("handlers_of_a_token_run_once_in_their_order_and_not_after_their_removal")
    func order() {
        let (token, log) = (CancellationToken(), Log<Int>())
        let handlers = (0..<20).map { number in token.onCancel { log.note(number) } }
        #expect(handlers[3].remove())
        #expect(!handlers[3].remove())
        token.cancel()
        token.cancel()
        #expect(log.all == (0..<20).filter { $0 != 3 })
        #expect(!handlers[4].remove(), "It has been called.")
        token.onCancel { log.note(99) }
        #expect(log.all.last == 99, "A cancelled token calls a handler at once.")
    }

    @Test("a_removed_handler_may_release_an_object_that_uses_the_token")
    func releases() {
        final class Listener: Sendable {
            let handler: CancellationToken.Handler
            let calls: Counter
            init(of token: CancellationToken, _ calls: Counter) {
                self.calls = calls
                handler = token.onCancel { calls.add() }
            }
            deinit { handler.remove() }
        }
        let (token, calls) = (CancellationToken(), Counter())
        let listener = token.onCancel { [inner = Listener(of: token, calls)] in _ = inner }
        #expect(listener.remove())
        token.cancel()
        #expect(calls.count == 0)
    }

    @Test("handlers_registered_beside_the_cancel_are_called_once_each_unless_removed")
    func beside() async {
        for _ in 0..<200 {
            let (token, calls) = (CancellationToken(), Counter())
            async let removed = Task.detached {
                (0..<20).map { _ in token.onCancel { calls.add() } }.filter { $0.remove() }.count
            }.value
            await Task.detached { token.cancel() }.value
            #expect(await removed + calls.count == 20)
        }
    }
}
