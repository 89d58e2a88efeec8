import Dispatch
import Synchronization
import Testing

@testable import Overdrive

@Suite("Retries", .timeLimit(.minutes(10)))
struct RetryTests {
    @Test("go on until an attempt succeeds, through the queue")
    func succeeds() async throws {
        let runs = Counter()
        let errors = Counter()
        let task = Task<Int>.inline {
            guard runs.add() == 6 else { throw Flaw() }
            return 42
        }
        task.retry(5).onError { _ in errors.add() }
        #expect(task.retryCount == 5)
        TaskQueue().add(task: task)
        #expect(try await task.value == 42)
        #expect(runs.count == 6 && task.retryCount == 0 && errors.count == 0)
    }

    @Test("end with the last error when there are none left")
    func fails() async {
        let runs = Counter()
        let task = Task<Int>.inline { throw Flaw(number: runs.add()) }.retry(3)
        TaskQueue.serial().add(task: task)
        #expect((await task.result().error as? Flaw)?.number == 4)
        #expect(runs.count == 4)
    }

    @Test("are no recursion: a hundred thousand attempts", arguments: [false, true])
    func many(inSubclass: Bool) async {
        let runs = Counter()
        final class Failing: Task<Int>, @unchecked Sendable {
            let runs: Counter
            init(_ runs: Counter) {
                self.runs = runs
                super.init()
            }
            override func run() { finish(with: .error(Flaw(number: runs.add()))) }
        }
        let task = inSubclass ? Failing(runs) : Task<Int>.inline { throw Flaw(number: runs.add()) }
        task.retry(100_000)
        TaskQueue().add(task: task)
        #expect((await task.result().error as? Flaw)?.number == 100_001)
    }

    @Test("stop on a cancel")
    func cancelled() async {
        let runs = Counter()
        let holder = Holder<Task<Int>?>(nil)
        let task = Task<Int>.inline {
            if runs.add() == 2 { holder.value?.cancel() }
            throw Flaw()
        }.retry(5)
        holder.value = task
        TaskQueue().add(task: task)
        #expect(await task.result().error is CancellationError)
        #expect(runs.count == 2)
        holder.value = nil
    }

    @Test("stop on a cancel while they wait for their time")
    func cancelledInBetween() async {
        let task = Task<Int>.inline { throw Flaw() }.retry(RetryPolicy(attempts: 4, delay: .fixed(.seconds(1000))))
        TaskQueue().add(task: task)
        #expect(eventually { task.retryCount == 2 })
        task.cancel()
        #expect(await task.result().error is CancellationError)
    }

    @Test("happen only for errors that are worth it")
    func predicate() async {
        let runs = Counter()
        let task = Task<Int>.inline { throw Flaw(number: runs.add()) }
            .retry(RetryPolicy(attempts: 10) { ($0 as? Flaw)?.number != 3 })
        TaskQueue().add(task: task)
        #expect((await task.result().error as? Flaw)?.number == 3)
    }

    @Test("do not follow an attempt that ends with CancellationError")
    func cancellationErrors() async {
        let runs = Counter()
        let task = Task<Int>.inline {
            runs.add()
            throw CancellationError()
        }.retry(3)
        TaskQueue().add(task: task)
        #expect(await task.result().error is CancellationError && runs.count == 1)
    }

    @Test("wait longer each time, up to a cap, give or take the jitter")
    func backoff() async throws {
        let policy = RetryPolicy(attempts: 10, delay: .exponential(.milliseconds(100), cap: .seconds(1)))
        let waits = (1...6).map { policy.delay(afterFailures: $0) }
        #expect(waits == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800), .seconds(1), .seconds(1)])
        let steady = RetryPolicy(attempts: 2, delay: .fixed(.seconds(2)), jitter: 0.5)
        #expect(steady.delay(afterFailures: 7) == .seconds(2))
        let shares = (0..<200).map { _ in steady.wait(afterFailures: 1) / .seconds(2) }
        #expect(shares.allSatisfy { (0.5...1.5).contains($0) } && shares.contains { $0 < 1 } && shares.contains { $0 > 1 })
        let start = ContinuousClock.now
        let runs = Counter()
        let task = Task<Int>.inline {
            guard runs.add() == 3 else { throw Flaw() }
            return 1
        }.retry(RetryPolicy(attempts: 3, delay: .exponential(.milliseconds(1), multiplier: 200), jitter: 0.5))
        TaskQueue().add(task: task)
        #expect(try await task.value == 1)
        // 1 + 200 ms, at least half of each.
        #expect(ContinuousClock.now - start >= .milliseconds(100))
    }

    @Test("tell observers and the delegate")
    func observed() async {
        final class Watcher: TaskObserver, TaskQueueDelegate {
            let (starts, retries, ends, delegated) = (Counter(), Counter(), Counter(), Counter())
            func taskDidStartExecution<T>(_ task: Task<T>) { starts.add() }
            func taskDidRetry<T>(_ task: Task<T>) { retries.add() }
            func taskDidFinishExecution<T>(_ task: Task<T>) { ends.add() }
            func didRetry<T>(task: Task<T>, in queue: TaskQueue) { delegated.add() }
        }
        let watcher = Watcher()
        let queue = TaskQueue()
        queue.delegate = watcher
        let task = Task<Int>.inline { throw Flaw() }.retry(2)
        task.add(observer: watcher)
        queue.add(task: task)
        _ = await task.result()
        #expect(eventually { watcher.ends.count == 1 })
        #expect(watcher.starts.count == 3 && watcher.retries.count == 2 && watcher.delegated.count == 2)
    }

    @Test("after a shutdown do not begin: the task is cancelled")
    func afterShutdown() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        _ = queue.add { 1 }
        let report: ShutdownReport = scheduler.shutdown(timeout: .seconds(20))
        #expect(report.stuck == 0)
        let runs = Counter()
        let task = Task<Int>.inline { throw Flaw(number: runs.add()) }.retry(100_000)
        queue.add(task: task)
        #expect(task.isCancelled)
        #expect(runs.count == 0)
    }

    @Test("wait no longer than the cap, whatever the wait is multiplied by")
    func multipliers() {
        func wait(_ multiplier: Double, _ cap: Duration = .seconds(60), afterFailures failed: Int = 9) -> Duration {
            RetryPolicy(attempts: 10, delay: .exponential(.seconds(1), multiplier: multiplier, cap: cap))
                .delay(afterFailures: failed)
        }
        for multiplier in [1e40, .greatestFiniteMagnitude, .infinity, .nan] { #expect(wait(multiplier) == .seconds(60)) }
        #expect(wait(1_000, .seconds(Int64.max)) == .seconds(Int64.max))
        #expect(wait(-2) == .zero && wait(0) == .zero && wait(-2, afterFailures: 1) == .seconds(1))
        #expect(wait(2, afterFailures: 3) == .seconds(4) && wait(1) == .seconds(1))
        #expect(wait(2, .zero) == .zero && wait(2, .seconds(-1)) == .zero)
    }

    @Test("keep a task no longer that is cancelled before its next attempt")
    func cancelledWhileItWaits() {
        let (attempts, questions) = (Counter(), Counter())
        weak var kept: Task<Int>?
        do {
            let task = Task<Int>.inline {
                attempts.add()
                throw Flaw()
            }
            task.retry(RetryPolicy(attempts: 3, delay: .fixed(.seconds(600))) { _ in questions.add() > 0 })
            kept = task
            TaskQueue().add(task: task)
            #expect(eventually { attempts.count == 1 && task.state == .pending })
            // Between two attempts there is none that could fail.
            #expect(!task.finish(with: .error(Flaw())) && questions.count == 1)
            task.cancel()
        }
        #expect(eventually { kept == nil })
    }

    /// The first attempt's value was the outcome of the second, which had none.
    @Test("do not end with the last update of an attempt that failed", arguments: [true, false])
    func completion(hasUpdate: Bool) async throws {
        let (runs, updates) = (Counter(), Log<Int>())
        let task = Task<Int> { emit in
            if runs.add() == 1 {
                emit(.update(1))
                emit(.failure(Flaw()))
            } else {
                if hasUpdate { emit(.update(2)) }
                emit(.completion)
            }
            return {}
        }
        task.onUpdate { updates.note($0) }
        task.retry(1)
        TaskQueue().add(task: task)
        let outcome = await task.result()
        if hasUpdate {
            #expect(outcome.value == 2 && updates.all == [1, 2])
        } else if case .noValue? = outcome.error as? TaskError {
            #expect(updates.all == [1])
        } else {
            Issue.record("\(outcome)")
        }
        #expect(runs.count == 2)
    }

    @Test("of a Void task end with nothing, whatever was said before")
    func completionOfVoid() async throws {
        let runs = Counter()
        let task = Task<Void> { emit in
            emit(.update(()))
            emit(runs.add() == 1 ? .failure(Flaw()) : .completion)
            return {}
        }
        task.retry(1)
        TaskQueue().add(task: task)
        try await task.value
        #expect(runs.count == 2)
    }

    /// There was an attempt too many, and -1 were left.
    @Test("are not begun twice for two failures of an attempt, however long a policy thinks about one of them")
    func twoFailures() {
        let (attempts, gate, answer) = (Counter(), Gate(), Log<Bool>())
        let task = Task<Int> { _ in
            attempts.add()
            return {}
        }
        task.retry(7)  // which the next one replaces
        task.retry(
            RetryPolicy(attempts: 2) { error in
                guard (error as? Flaw)?.number == 2 else { return true }
                gate.pass()
                return true
            })
        task.start()
        let late = DispatchGroup()
        DispatchQueue(label: "late").async(group: late) {
            answer.note(task.finish(with: .error(Flaw(number: 2))))
        }
        #expect(eventually { gate.arrivals == 1 })
        #expect(task.finish(with: .error(Flaw(number: 1))))
        #expect(eventually { attempts.count == 2 && task.isExecuting })
        gate.open()
        late.wait()
        #expect(answer.all == [false] && task.isExecuting)
        #expect(task.finish(with: .value(7)))
        #expect(attempts.count == 2 && task.retryCount == 0 && task.result?.value == 7)
    }
}
