import OverdriveCore
import Testing

@Suite("A counting semaphore", .timeLimit(.minutes(10)))
struct CountingSemaphoreTests {
    @Test("hands out as many permits as it has")
    func permits() {
        let semaphore = CountingSemaphore(value: 2)
        semaphore.wait()
        #expect(semaphore.wait(timeout: .zero) == .success)
        #expect(semaphore.wait(timeout: .zero) == .timedOut)
        #expect(semaphore.wait(timeout: .seconds(Int64.min)) == .timedOut)
        #expect(semaphore.wait(timeout: .milliseconds(1)) == .timedOut)
        #expect(semaphore.wait(deadline: .now + .milliseconds(1)) == .timedOut)
        #expect(semaphore.wait(deadline: .now - .seconds(1)) == .timedOut)
        #expect(semaphore.description == "CountingSemaphore (permits: 0)")
        #expect(!semaphore.signal())
        #expect(semaphore.wait(deadline: .now + .seconds(20)) == .success)
        #expect(!semaphore.signal())
        #expect(!semaphore.signal())
        #expect(semaphore.description == "CountingSemaphore (permits: 2)")
    }

    // MARK: - Tasks

    @Test("lets tasks wait without a thread, in line with the others")
    func tasks() async throws {
        let scheduler = makeScheduler(workers: 1)
        let semaphore = CountingSemaphore(value: 0)
        let order = Log<Int>()
        let tasks = (0..<20).map { number in
            let task = Task(executorPreference: scheduler) {
                try await semaphore.wait()
                order.note(number)
            }
            #expect(eventually { semaphore.description == "CountingSemaphore (waiting: \(number + 1))" })
            return task
        }
        for _ in tasks { #expect(semaphore.signal()) }
        for task in tasks { try await task.value }
        #expect(order.all == Array(0..<20))
    }

    @Test("takes a permit at once where there is one, cancelled tasks excepted")
    func atOnce() async throws {
        let semaphore = CountingSemaphore(value: 1)
        try await semaphore.wait()
        semaphore.signal()
        let gate = Gate()
        let task = Task {
            gate.pass()
            try await semaphore.wait()
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await semaphore.wait(timeout: .zero) == .success)
        semaphore.signal()
    }

    @Test("throws where a task is cancelled in line, and serves the next")
    func cancelled() async throws {
        let semaphore = CountingSemaphore(value: 0)
        let scheduler = makeScheduler()
        let first = Task(executorPreference: scheduler) { try await semaphore.wait() }
        #expect(eventually { semaphore.description == "CountingSemaphore (waiting: 1)" })
        let second = Task(executorPreference: scheduler) { try await semaphore.wait() }
        #expect(eventually { semaphore.description == "CountingSemaphore (waiting: 2)" })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(semaphore.description == "CountingSemaphore (waiting: 1)")
        semaphore.signal()
        try await second.value
    }

    @Test("is kept by no task that was cancelled in line")
    func cancelledAreGivenBack() async throws {
        weak var remaining: CountingSemaphore?
        do {
            let semaphore = CountingSemaphore(value: 0)
            remaining = semaphore
            let task = Task(executorPreference: makeScheduler()) { try await semaphore.wait() }
            #expect(eventually { semaphore.description == "CountingSemaphore (waiting: 1)" })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        for _ in 0..<10_000 where remaining != nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(remaining == nil)
    }

    @Test("loses no permit to cancellations that race with signals")
    func cancellationRace() async throws {
        let semaphore = CountingSemaphore(value: 0)
        for _ in 0..<500 {
            let task = Task { try await semaphore.wait() }
            async let signal = Task { semaphore.signal() }.value
            task.cancel()
            _ = await signal
            // The signal's permit is left where the task was not given it.
            if case .failure = await task.result { #expect(try await semaphore.wait(timeout: .zero) == .success) }
        }
        #expect(try await semaphore.wait(timeout: .zero) == .timedOut)
    }
}
