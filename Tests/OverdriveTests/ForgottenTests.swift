import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Overdrive

/// Nobody waits for ever for what nobody will bring.
@Suite("What is forgotten", .timeLimit(.minutes(10)))
struct ForgottenTests {
    /// Where a program keeps an emitter until it is taken.
    private final class Held: Sendable {
        private let emitter = Mutex<Task<Int>.Emitter?>(nil)
        func put(_ emit: Task<Int>.Emitter) { emitter.withLock { $0 = emit } }
        func take() -> Task<Int>.Emitter? { emitter.withLock { $0.take() } }
        func dropInLock() { emitter.withLock { $0 = nil } }
        var isEmpty: Bool { emitter.withLock { $0 == nil } }
    }

    @Test("A lost callback is a failure, which is attempted again where it is to be", arguments: [true, false])
    func lostCallback(onQueue: Bool) {
        let (attempts, updates, held) = (Counter(), Log<Int>(), Held())
        let task = Task<Int> { emit in
            held.put(emit)
            attempts.add()
            return {}
        }
        task.retry(2).onUpdate { updates.note($0) }
        let dependent = Task.inline { task.result?.value }
        dependent.add(dependency: task, requiring: .success)
        if onQueue { TaskQueue().add(task: task) } else { task.start() }
        TaskQueue().add(task: dependent)
        for attempt in 1...3 {
            // The body has returned, and the emitter is nobody's but the test's.
            #expect(eventually { attempts.count == attempt && task.isExecuting && !task.standing.isInBody })
            let emit = held.take()
            emit?(.update(attempt))
            if attempt == 3 { emit?(.completion) }
        }
        #expect(dependent.wait(timeout: .seconds(300)) == .success)
        #expect(dependent.result?.value == 3)
        #expect(attempts.count == 3 && updates.all == [1, 2, 3])
    }

    @Test("An emitter that was kept and let go of without the end fails the task", arguments: [true, false])
    func abandoned(onQueue: Bool) {
        let held = Held()
        let task = Task<Int> { emit in
            held.put(emit)
            return {}
        }
        // Whoever lets go of it may hold a lock that a handler wants.
        let seen = Log<Bool>()
        task.onError { _ in seen.note(held.isEmpty) }
        if onQueue { TaskQueue().add(task: task) } else { task.start() }
        #expect(eventually { task.isExecuting && !task.standing.isInBody })
        held.dropInLock()
        #expect(task.wait(timeout: .seconds(300)) == .success)
        #expect(eventually { seen.all == [true] })
        guard case .abandoned? = task.result?.error as? TaskError else {
            Issue.record("\(String(describing: task.result))")
            return
        }
    }

    @Test("A body that keeps no emitter leaves the end to finish(with:)")
    func byHand() {
        let (task, scheduler) = (Task<Int> { _ in {} }, makeScheduler(workers: 1))
        let dependent = Task.inline { task.result?.value }
        dependent.add(dependency: task)
        task.start()
        TaskQueue(scheduler: scheduler).add(task: dependent)
        runOneOfEachBand(on: scheduler)
        #expect(!dependent.isFinished)
        #expect(task.finish(with: .value(7)))
        #expect(dependent.wait(timeout: .seconds(300)) == .success)
        #expect(dependent.result?.value == 7)
    }

    @Test("A started task that nobody holds but who waits for it is cancelled, and those are released")
    func startedWithoutQueue() {
        let ran = Counter()
        var task: Task<Int>? = Task<Int> { _ in {} }
        task?.name = "forgotten"
        let (any, strict) = (Task.inline { ran.add() }, Task.inline { ran.add() })
        any.add(dependency: task!)
        strict.add(dependency: task!, requiring: .success)
        task?.start()
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        queue.add(tasks: [any, strict])
        #expect(any.dependencies.first === task)
        runOneOfEachBand(on: scheduler)
        #expect(!any.isFinished)
        task = nil
        #expect(any.wait(timeout: .seconds(300)) == .success)
        #expect(strict.wait(timeout: .seconds(300)) == .success)
        #expect(ran.count == 1)
        let error = strict.result?.error as? DependencyError
        #expect(error?.dependency == "\"forgotten\"" && error?.underlying is CancellationError)
    }

    @Test("What is over is kept by those that waited for it, so that they can read its result")
    func resultAfterTheEnd() {
        let values = Log<[Int?]>()
        let blocked = WaitGroup()
        blocked.enter()
        var task: Task<Int>? = Task<Int> { _ in {} }
        let gate = Task.inline { _ = blocked.wait(timeout: .seconds(300)) }
        final class Reads: Task<Void>, @unchecked Sendable {
            let values: Log<[Int?]>
            init(_ values: Log<[Int?]>) {
                self.values = values
                super.init()
            }
            override func run() {
                values.note(get(dependency: Task<Int>.self).map { $0.result?.value })
                finish(with: .value(()))
            }
        }
        let reads = Reads(values)
        reads.add(dependency: task!)
        reads.add(dependency: gate)
        task?.start()
        TaskQueue().add(task: reads)
        #expect(eventually { gate.isExecuting })
        task?.finish(with: .value(5))
        task = nil
        blocked.leave()
        #expect(reads.wait(timeout: .seconds(300)) == .success)
        #expect(values.all == [[5]])
    }

    @Test("A dependent that was cancelled does not keep what it waited for")
    func cancelledDependent() {
        let (kept, ended) = (Log<Task<Int>.Emitter>(), Log<Bool>())
        var task: Task<Int>? = Task<Int> { emit in
            kept.note(emit)
            return {}
        }
        for _ in 0..<2 {
            task?.onCompletion { (result: Result<Int, any Error>) in ended.note(result.error is CancellationError) }
        }
        let dependent = Task.inline {}
        dependent.add(dependency: task!)
        task?.start()
        TaskQueue().add(task: dependent)
        dependent.cancel()
        #expect(dependent.isFinished)
        task = nil
        #expect(eventually { ended.all == [true, true] })
    }

    @Test("What is linked while a started task's body runs does not keep it beyond the body's return")
    func linkedWhileTheBodyRuns() {
        let (entered, mayReturn, ran) = (WaitGroup(), WaitGroup(), Counter())
        entered.enter()
        mayReturn.enter()
        var task: Task<Int>? = Task<Int> { _ in
            entered.leave()
            mayReturn.wait()
            return {}
        }
        task?.name = "forgotten"
        let (any, strict, removed) = (Task.inline { ran.add() }, Task.inline { ran.add() }, Task.inline { ran.add() })
        for each in [any, removed] { each.add(dependency: task!) }
        strict.add(dependency: task!, requiring: .success)
        let starter = WaitGroup()
        TaskQueue().async(group: starter) { [task] in task?.start() }
        entered.wait()
        let scheduler = makeScheduler(workers: 1)
        let queue = TaskQueue(scheduler: scheduler)
        queue.add(tasks: [any, strict, removed])
        #expect(removed.remove(dependency: task!))
        mayReturn.leave()
        starter.wait()
        #expect(removed.wait(timeout: .seconds(300)) == .success)
        #expect(any.dependencies.first === task)
        runOneOfEachBand(on: scheduler)
        #expect(!any.isFinished)
        task = nil
        #expect(any.wait(timeout: .seconds(30)) == .success)
        #expect(strict.wait(timeout: .seconds(30)) == .success)
        #expect(ran.count == 2)
        let error = strict.result?.error as? DependencyError
        #expect(error?.dependency == "\"forgotten\"" && error?.underlying is CancellationError)
        // Where they wait for ever, they are not waited for at the end.
        for each in [any, strict] { each.cancel() }
    }

    /// Each kept the other: the task its list of dependents, and the edge in there the task.
    @Test("What a dependency was removed from is kept by nobody, while somebody may speak for it")
    func removed() {
        let (emit, told): (Task<Int>.Emitter, Counter)
        do {
            let (task, dependent) = (spoken(), Task.inline {})
            (emit, told) = (task.1, Counter())
            task.0.onCancel { told.add() }
            dependent.add(dependency: task.0)
            TaskQueue().add(task: dependent)
            #expect(!dependent.isFinished && dependent.remove(dependency: task.0))
        }
        #expect(eventually { !emit.isActive && told.count == 1 })
    }

    @Test("A dependent that waits no longer is not kept by what it waited for, nor what was over by its dependents")
    func letGo() {
        let (task, emit) = spoken(of: Int.self)
        weak var (dependent, over): (Task<Void>?, Task<Int>?)
        do {
            let (each, first) = (Task.inline {}, Task.inline { 1 })
            (dependent, over) = (each, first)
            first.start()
            each.add(dependency: task)
            each.add(dependency: first)
            TaskQueue().add(task: each)
            #expect(!each.isFinished && each.remove(dependency: task))
            #expect(each.wait(timeout: .seconds(300)) == .success)
        }
        #expect(eventually { dependent == nil && over == nil })
        emit(.completion)
    }

    @Test("However a dependent's linking, its removal, the body's return and a finish meet, each dependent runs once")
    func linkingRaces() {
        let queue = TaskQueue()
        for round in 0..<400 {
            let (ran, entered, mayReturn, threads) = (Counter(), Counter(), Counter(), WaitGroup())
            let dependents = (0..<3).map { _ in Task.inline { ran.add() } }
            do {
                let task = Task<Int> { _ in
                    entered.add()
                    while mayReturn.count == 0 { sched_yield() }
                    return {}
                }
                for each in dependents { each.add(dependency: task) }
                queue.async(group: threads) { task.start() }
                // A dependent that came before the start would bring it to its queue, which keeps it.
                while entered.count == 0 { sched_yield() }
                queue.async(group: threads) { queue.add(tasks: dependents) }
                if round & 1 != 0 { queue.async(group: threads) { dependents[0].remove(dependency: task) } }
                if round & 2 != 0 { queue.async(group: threads) { task.finish(with: .value(1)) } }
                mayReturn.add()
                threads.wait()
            }
            for each in dependents where each.wait(timeout: .seconds(60)) != .success {
                Issue.record("round \(round): a dependent waits for what is gone")
                for each in dependents { each.cancel() }
                return
            }
            #expect(ran.count == 3)
        }
    }

    @Test("Dependents of a started task cost the same, however many there are")
    func manyDependents() {
        /// The thread's CPU time in nanoseconds for `count` dependents.
        func time(_ count: Int) -> Int {
            let (task, queue, ran) = (Task<Int> { _ in {} }, TaskQueue(), Counter())
            task.start()
            let dependents = (0..<count).map { _ in Task.inline { ran.add() } }
            let before = threadTime()
            for dependent in dependents {
                dependent.add(dependency: task)
                queue.add(task: dependent)
            }
            let spent = threadTime() - before
            task.finish(with: .value(1))
            queue.waitUntilAllTasksAreFinished()
            #expect(ran.count == count)
            return spent
        }
        func threadTime() -> Int {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        _ = time(1000)
        // 4 times as many take 4 times as long; 16 times as long if each visits all others.
        let (few, many) = (time(2000), time(8000))
        #expect(many < 9 * few, "\(few) ns for 2,000, \(many) ns for 8,000")
    }

    /// Each loop that was left kept its stream, and what the stream had not handed over, until the end of the task.
    @Test("A loop over updates that is left early is kept no longer")
    func leftLoop() async throws {
        let census = Census()
        let (task, emit) = spoken(of: Tracked.self)
        emit(.update(census.newborn()))
        for _ in 0..<10 {
            for try await update in task.updates {
                update.touch()
                break
            }
        }
        // One that is never begun, and one whose reader is cancelled.
        _ = task.updates
        let reader = AsyncTask { for try await update in task.updates { update.touch() } }
        reader.cancel()
        _ = await reader.result
        let kept = task.typedExtras.typed { ($0.updateHandlers.count, $0.handlers.count) }
        #expect(kept == (0, 0))
        // Who listens still hears all of it.
        let updates = task.updates
        emit(.update(census.newborn()))
        emit(.completion)
        var seen = 0
        for try await update in updates {
            update.touch()
            seen += 1
        }
        #expect(seen == 2)
    }

    @Test("A stream that is given up before it has its turn, in a handler of an update, is not kept")
    func givenUpInHandler() {
        let (task, emit) = spoken(of: Int.self)
        task.onUpdate { _ in _ = task.updates }
        emit(.update(1))
        #expect(task.typedExtras.typed { $0.updateHandlers.count } == 1)
        emit(.completion)
    }

    @Test("Loops over updates that are left while the task speaks and ends leave nothing behind")
    func leftLoops() async {
        for round in 0..<200 {
            let (task, emit) = spoken(of: Int.self)
            await withTaskGroup { group in
                for reader in 0..<3 {
                    group.addTask {
                        var last = 0
                        do {
                            for try await update in task.updates {
                                if update < last { Issue.record("\(update) after \(last)") }
                                last = update
                                if update >= reader { break }
                            }
                        } catch { Issue.record(error) }
                    }
                }
                group.addTask {
                    for update in 1...3 { emit(.update(update)) }
                    if round % 2 == 0 { emit(.completion) } else { task.finish(with: .value(4)) }
                }
            }
            #expect(await task.result().value != nil)
            #expect(eventually { task.standing.isClosed })
            let kept = task.typedExtras.typed { ($0.updateHandlers.count, $0.handlers.count) }
            #expect(kept == (0, 0))
        }
    }

    /// The first attempt's emitter spoke for the second, too: a task that nobody would ever finish was waited for.
    @Test("An emitter that was kept in one attempt does not speak for the next")
    func spokenForOnce() {
        let (attempts, kept) = (Counter(), Log<Task<Int>.Emitter>())
        var task: Task<Int>? = Task<Int> { emit in
            if attempts.add() == 1 {
                kept.note(emit)
                emit(.failure(Flaw()))
            }
            return {}
        }
        task?.retry(1)
        task?.start()
        #expect(eventually { attempts.count == 2 && task?.standing.isInBody == false })
        let dependent = Task.inline {}
        dependent.add(dependency: task!, requiring: .success)
        let scheduler = makeScheduler(workers: 1)
        TaskQueue(scheduler: scheduler).add(task: dependent)
        runOneOfEachBand(on: scheduler)
        #expect(!dependent.isFinished)
        task = nil
        #expect(dependent.wait(timeout: .seconds(30)) == .success)
        #expect((dependent.result?.error as? DependencyError)?.underlying is CancellationError)
        dependent.cancel()  // where it waits for ever
    }

    /// Crashed, in the lock of the list: whoever looked for what is to be removed had the last reference.
    @Test("A dependency that nobody holds any more is lost while others are removed")
    func lostWhileRemoving() {
        let (held, other, strict) = (Holder<Task<Int>?>(Task { _ in {} }), Task.inline {}, Task.inline {})
        held.value?.name = "forgotten"
        strict.add(dependency: held.value!, requiring: .success)
        strict.add(dependency: other)
        held.value?.start()
        let queue = TaskQueue()
        queue.suspend()
        queue.add(task: strict)
        let removed = strict.removeDependencies { task in
            if task !== other { held.value = nil }
            return task === other
        }
        #expect(removed == 1)
        let error = strict.result?.error as? DependencyError
        #expect(error?.dependency == "\"forgotten\"" && error?.underlying is CancellationError)
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("A suspended or inactive queue that is let go of runs its tasks and closures, and goes", arguments: [true, false], [true, false])
    func suspendedQueue(isInactive: Bool, hasDependency: Bool) {
        let ran = Counter()
        let (dependency, emit) = spoken(of: Int.self)
        weak var kept: TaskQueue?
        do {
            let queue = TaskQueue(initiallyInactive: isInactive)
            kept = queue
            if !isInactive { queue.suspend() }
            queue.async { ran.add() }
            let task = Task.inline { ran.add() }
            if hasDependency { task.add(dependency: dependency) }
            queue.add(task: task)
        }
        #expect(eventually { kept == nil })
        emit(.value(1))
        #expect(eventually { ran.count == 2 })
    }
}
