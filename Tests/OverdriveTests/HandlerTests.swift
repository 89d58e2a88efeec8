import Testing

@testable import Overdrive

@Suite("Handlers", .timeLimit(.minutes(10)))
struct HandlerTests {
    @Test("of a success: onValue and onCompletion, in the order in which they were registered")
    func success() async throws {
        let log = Log<String>()
        let task = Task.inline { 5 }
        task.onValue { log.note("value \($0)") }
            .onError { _ in log.note("error") }
            .onCompletion { log.note("completion") }
            .onValue { log.note("second \($0)") }
            .onCancel { log.note("cancel") }
        TaskQueue().add(task: task)
        #expect(try await task.value == 5)
        #expect(eventually { log.all.count == 3 })
        #expect(log.all == ["value 5", "completion", "second 5"])
    }

    @Test("of a failure: onError and onCompletion")
    func failure() async {
        let log = Log<String>()
        let task = Task<Int>.inline { throw Flaw(number: 3) }
        task.onError { log.note("error \(($0 as? Flaw)?.number ?? 0)") }
            .onFailure { _ in log.note("failure") }
            .onValue { _ in log.note("value") }
            .onCompletion { (outcome: Result<Int, any Error>) in log.note("outcome \(outcome.error is Flaw)") }
        TaskQueue().add(task: task)
        _ = await task.result()
        #expect(eventually { log.all == ["error 3", "failure", "outcome true"] })
    }

    @Test("of a cancellation: onCancel and onCompletion, not onError")
    func cancellation() async {
        let log = Log<String>()
        let task = Task.inline { 1 }
        task.onError { _ in log.note("error") }
            .onCompletion { (outcome: Result<Int, any Error>) in log.note("completion \(outcome.error is CancellationError)") }
            .onCancel { log.note("cancel") }
            .onValue { _ in log.note("value") }
        task.cancel()
        #expect(log.all == ["cancel", "completion true"])
        #expect(task.isCancelled && task.isFinished)
        TaskQueue().add(task: task)
        #expect(log.all == ["cancel", "completion true"])
    }

    @Test("that come late are served at once, by who brings them")
    func late() async throws {
        let task = TaskQueue().add { 7 }
        _ = try await task.value
        task.waitUntilOver()
        var seen: [Int] = []
        let thread = threadIdentity()
        let threads = Log<Bool>()
        task.onCompletion { threads.note(threadIdentity() == thread) }
        #expect(threads.all == [true])
        let log = Log<Int>()
        for number in 0..<3 { task.onValue { log.note($0 + number) } }
        seen = log.all
        #expect(seen == [7, 8, 9])
        // Cancelled by itself, where nobody asked to be told.
        let (gaveUp, told) = (Task.inline { throw CancellationError() }, Counter())
        gaveUp.start()
        gaveUp.onCancel { told.add() }
        #expect(told.count == 1)
        let givesUp = Task.inline { throw CancellationError() }
        givesUp.onCancel { told.add() }
        givesUp.start()
        #expect(told.count == 2)
    }

    @Test("What a body that was finished from within returns is called as it returns")
    func cleanupOfFinished() {
        let (holder, cleaned) = (Holder<Task<Int>?>(nil), Counter())
        let task = Task<Int> { _ in
            holder.value?.finish(with: .value(1))
            return { cleaned.add() }
        }
        holder.value = task
        task.start()
        #expect(cleaned.count == 1)
        holder.value = nil
    }

    @Test("run on the queue that is asked for")
    func onQueue() async throws {
        let queue = TaskQueue(qos: .utility)
        let log = Log<Bool>()
        let group = WaitGroup()
        group.enter()
        TaskQueue().add { 1 }.onValue(on: queue) { _ in
            log.note(TaskQueue.QoS.current == .utility)
            group.leave()
        }
        await group.wait()
        #expect(log.all == [true])
    }

    @Test("run on the main actor when it is asked for")
    func onMainActor() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            TaskQueue().add { 1 }.onValue(on: MainActor.self) { _ in
                MainActor.assertIsolated()
                continuation.resume()
            }
        }
    }

    @Test("onCompletion_on_a_queue_and_on_the_main_actor_gets_the_outcome")
    func outcomes() async {
        let (queue, seen) = (TaskQueue.serial(), Log<Bool>())
        let task = Task<Int>.inline { throw Flaw(number: 3) }
        task.onCompletion(on: queue) { outcome in
            queue.assertOnQueue()
            seen.note(outcome.error is Flaw)
        }
        task.onCompletion(on: MainActor.self) { outcome in seen.note(outcome.value == nil) }
        TaskQueue().add(task: task)
        _ = await task.result()
        #expect(eventually { seen.all == [true, true] })
    }

    @Test("A handler of updates that comes after the end is not kept: it may hold its task")
    func updatesAfterTheEnd() {
        let census = Census()
        do {
            let task = TaskQueue().add { 7 }
            #expect(eventually { task.isFinished })  // asks and does not wait: a waiter would be there at the end
            task.onUpdate { [circle = census.newborn()] _ in withExtendedLifetime(task) { circle.touch() } }
        }
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 1)
    }

    @Test("of a cancellation or an update that did not come are let go of at the end, though the task is kept")
    func unusedCancelHandlers() {
        let (task, census) = (Task.inline { 1 }, Census())
        do {
            let tracked = census.newborn()
            task.onCancel { tracked.touch() }.onUpdate { _ in tracked.touch() }
        }
        task.start()
        #expect(task.result?.value == 1 && census.alive == 0)
    }

    @Test("are let go of, and so are body and task")
    func leaks() async throws {
        let census = Census()
        do {
            let queue = TaskQueue()
            for number in 0..<1000 {
                let (body, handler) = (census.newborn(), census.newborn())
                let task = queue.add { () throws -> Int in
                    body.touch()
                    if number % 3 == 0 { throw Flaw() }
                    return number
                }
                task.onValue { _ in handler.touch() }
                if number % 2 == 0 { task.onError { _ in handler.touch() }.onCancel { handler.touch() } }
                if number % 5 == 0 { task.cancel() }
                // A circle that the end has to break.
                if number % 7 == 0 { task.onCompletion { withExtendedLifetime(task) {} }.onUpdate { _ in withExtendedLifetime(task) {} } }
            }
            await queue.drained()
        }
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 2000)
    }

    enum Cascade: CaseIterable { case handlers, cancels, starts, observers }

    private struct FinishesNext: TaskObserver {
        let next: Task<Int>
        func taskWillFinishExecution<T>(_ task: Task<T>) { next.finish(with: .value(1)) }
    }

    @Test("that finish, cancel or start the next task take a short stack, however many follow", arguments: Cascade.allCases)
    func cascade(kind: Cascade) {
        let count = 20_000
        let queue = TaskQueue(scheduler: makeScheduler(workers: 1, stackSize: 512 << 10))
        let tasks = Log<Task<Int>>()
        for index in 0..<count {
            switch kind {
            case .handlers, .cancels, .observers: tasks.note(Task<Int> { _ in {} })
            case .starts:
                tasks.note(Task.inline {
                    if index + 1 < count { tasks.all[index + 1].start() }
                    return index
                })
            }
        }
        let all = tasks.all
        for (task, next) in zip(all, all.dropFirst()) {
            if kind == .handlers { task.onValue { next.finish(with: .value($0 + 1)) } }
            if kind == .cancels { task.onCancel { next.cancel() } }
            if kind == .observers { task.add(observer: FinishesNext(next: next)) }
        }
        if kind == .handlers || kind == .observers { for task in all { task.start() } }
        queue.async {
            switch kind {
            case .handlers, .observers: all[0].finish(with: .value(0))
            case .cancels: all[0].cancel()
            case .starts: all[0].start()
            }
        }
        #expect(eventually { all.allSatisfy(\.isFinished) })
        if kind == .handlers { #expect(all.last?.result?.value == count - 1) }
    }

    @Test("and blocks of tasks are released at the end, though the task is kept")
    func blocksAreReleased() {
        final class Captured: Sendable {}
        weak var (inline, single, block, asynchronous): (Captured?, Captured?, Captured?, Captured?)
        let tasks: [AnyTask]
        do {
            let (a, b, c, d) = (Captured(), Captured(), Captured(), Captured())
            (inline, block, asynchronous, single) = (a, b, c, d)
            tasks = [
                InlineTask { withExtendedLifetime(a) {} },
                BlockTask { withExtendedLifetime(d) {} },
                BlockTask(blocks: [{ withExtendedLifetime(b) {} }, { withExtendedLifetime(b) {} }]),
                Task.async { withExtendedLifetime(c) {} },
            ]
        }
        for task in tasks { TaskQueue.global().add(task: task) }
        for task in tasks { task.waitUntilFinished() }
        #expect(eventually { inline == nil && single == nil && block == nil && asynchronous == nil })
        withExtendedLifetime(tasks) {}
    }
}

extension Task {
    /// Until the publisher has served its handlers.
    func waitUntilOver() {
        // Who awaits the value goes on before the handlers are closed: one that comes meanwhile is served by the finisher.
        _ = eventually { standing.isClosed }
    }
}
