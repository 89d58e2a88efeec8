import Foundation
@testable import Overdrive
import Synchronization
import Testing

/// A million; without optimisation fewer, which would overflow a stack all the same.
private let many = {
    var isDebug = false
    assert({ isDebug = true; return true }())
    return isDebug ? 60_000 : 1_000_000
}()

@Suite("Graphs of tasks", .timeLimit(.minutes(10)))
struct GraphTests {
    @Test("a dependency that nobody adds is brought along, to the dependent's queue")
    func broughtAlong() async throws {
        let (first, second) = (Task.inline { 1 }, Task.inline { 2 })
        second.add(dependency: first)
        let queue = TaskQueue(qos: .utility)
        let band = Log<TaskQueue.QoS?>()
        first.onValue { _ in band.note(.current) }
        queue.add(task: second)
        #expect(try await second.value == 2)
        #expect(first.isFinished)
        #expect(band.all == [.utility])
        // The program's own add comes later, and joins.
        let (third, fourth) = (Task.inline { 3 }, Task.inline { 4 })
        fourth.add(dependency: third)
        queue.add(task: fourth)
        TaskQueue().add(task: third)
        #expect(try await fourth.value == 4)
    }

    @Test("a handler of a failed dependent may wait for an earlier dependent")
    func handlerWaitsForEarlier() {
        for _ in 0..<20 {
            let (failing, ran) = (Task<Int>.inline { throw Flaw() }, Counter())
            let earlier = Task<Void>.inline { ran.add() }
            let strict = Task<Void>.inline {}
            earlier.add(dependency: failing)
            strict.add(dependency: failing, requiring: .success)
            strict.onFailure { _ in #expect(earlier.wait(timeout: .seconds(60)) == .success) }
            let queue = TaskQueue()
            for task in [failing, earlier, strict] as [AnyTask] { queue.add(task: task) }
            strict.waitUntilFinished()
            #expect(ran.count == 1)
        }
    }

    @Test("dependents of one task run in the order in which they came, whatever they require")
    func orderOfRequirements() {
        let (order, queue) = (Log<String>(), TaskQueue.serial(label: "order"))
        let first = Task<Void>.inline {}
        let tasks = [AnyTask.DependencyRequirement.finish, .success, .finish, .success].enumerated().map { number, requirement in
            let task = Task<Void>.inline { order.note("\(number)") }
            task.add(dependency: first, requiring: requirement)
            return task
        }
        for task in tasks { queue.add(task: task) }
        queue.add(task: first)
        queue.waitUntilAllTasksAreFinished()
        #expect(order.all == ["0", "1", "2", "3"])
    }

    @Test("a dependency may be shared by many")
    func shared() async throws {
        let runs = Counter()
        let shared = Task.inline { runs.add() }
        let queues = [TaskQueue(), TaskQueue.serial(), TaskQueue(qos: .background)]
        let dependents = (0..<300).map { _ in Task.inline { shared.result?.value } }
        for (index, dependent) in dependents.enumerated() {
            dependent.add(dependency: shared)
            queues[index % 3].add(task: dependent)
        }
        for dependent in dependents { #expect(try await dependent.value == 1) }
        #expect(runs.count == 1)
    }

    @Test("dependents of a failed or cancelled dependency run, unless they require its success")
    func requirements() async {
        let queue = TaskQueue()
        for isCancelled in [false, true] {
            let failing = Task<Int>.inline { throw Flaw(number: 4) }
            failing.name = "download"
            let (easy, strict) = (Task.inline { 1 }, Task.inline { 2 })
            easy.add(dependency: failing)
            strict.add(dependency: failing, requiring: .success)
            let after = Task.inline { 3 }
            after.add(dependency: strict, requiring: .success)
            queue.add(tasks: [after, strict, easy])
            if isCancelled { failing.cancel() }
            #expect(await easy.result().value == 1)
            let error = await strict.result().error as? DependencyError
            #expect(error?.dependency == "\"download\"")
            let isAsExpected =
                isCancelled
                ? error?.underlying is CancellationError || (error?.underlying as? Flaw)?.number == 4
                : (error?.underlying as? Flaw)?.number == 4
            #expect(isAsExpected)
            let next = await after.result().error as? DependencyError
            #expect(next?.dependency == "a Task<Int>" && !(next?.underlying is DependencyError), "what began it")
        }
    }

    @Test("results are handed on by get(dependency:), which asks for the class")
    func results() async throws {
        final class Number: Task<Int>, @unchecked Sendable {
            override func run() { finish(with: .value(20)) }
        }
        let (number, other, text) = (Number(), Task.inline { 1 }, Task.inline { "text" })
        let sum = Sum()
        for dependency in [number, other, text] as [AnyTask] { sum.add(dependency: dependency) }
        TaskQueue().add(task: sum)
        #expect(try await sum.value == 21)
        final class Sum: Task<Int>, @unchecked Sendable {
            override func run() {
                #expect(get(dependency: Number.self).count == 1)
                #expect(get(dependency: Task<String>.self).map(\.result?.value) == ["text"])
                let numbers = get(dependency: Task<Int>.self).compactMap { $0.result?.value }
                finish(with: .value(numbers.reduce(0, +)))
            }
        }
    }

    @Test("a dependency may be removed while it is waited for, which releases the dependent")
    func removal() async throws {
        let never = Task<Int>.async { try await AsyncTask.sleep(for: .seconds(600)); return 1 }
        let queue = TaskQueue()
        let waiting = Task.inline { 5 }
        waiting.add(dependency: never)
        #expect(waiting.dependencies.count == 1)
        queue.add(task: waiting)
        #expect(waiting.state == .pending)
        #expect(waiting.remove(dependency: never))
        #expect(!waiting.remove(dependency: never))
        #expect(try await waiting.value == 5)
        #expect(!waiting.add(dependency: never), "it is too late")
        never.cancel()
        #expect(await never.result().error is CancellationError)
        // Over, or about to be.
        let (cancelled, removed) = (Task.inline {}, Log<Bool>())
        cancelled.add(dependency: never)
        cancelled.onCancel { removed.note(cancelled.remove(dependency: never)) }
        cancelled.cancel()
        #expect(removed.all == [false])
    }

    @Test("removed_dependents_leave_their_dependency_at_most_half_of_its_edges", arguments: [false, true])
    func removedDependentsAreSwept(onQueue: Bool) {
        struct Weak { weak var hold: MemoryHold? }
        let (never, queue) = (Task<Int> { _ in {} }, TaskQueue())
        if onQueue { TaskQueue().add(task: never) } else { never.start() }
        let kept = (0..<100).map { number in Task.inline { number } }
        for task in kept { task.add(dependency: never) }
        var removed: [Weak] = []
        for round in 0..<2_000 {
            let dependent = Task.inline {}
            dependent.add(dependency: never)
            let edge = dependent.edges.withLock { $0.first }
            queue.add(task: dependent)
            if round == 1_000 { queue.add(tasks: kept) }
            if round % 2 == 0 { dependent.remove(dependency: never) } else { dependent.cancel() }
            removed.append(Weak(hold: edge?.hold))  // a removed edge keeps its dependent's memory
        }
        #expect((1...110).contains(removed.count { $0.hold != nil }))
        never.finish(with: .value(1))
        for task in kept { task.waitUntilFinished() }
        #expect(kept.allSatisfy { $0.result?.value != nil })
        #expect(eventually { removed.allSatisfy { $0.hold == nil } })
    }

    @Test("dependencies are in the order in which they were added, whichever are removed")
    func orderOfWhatIsLeft() {
        let (all, dependent) = ((0..<5).map { Task(value: $0) }, Task.inline { 5 })
        for each in all { dependent.add(dependency: each) }
        for removed in [1, 4] { // after each: what is turned round twice stands as before
            #expect(dependent.remove(dependency: all[removed]))
            let left = removed == 1 ? [all[0], all[2], all[3], all[4]] : [all[0], all[2], all[3]]
            #expect(dependent.dependencies.elementsEqual(left) { $0 === $1 })
        }
    }

    /// It was lost where nothing of the task's rarely needed things was there yet.
    @Test("a cancel at the very start of an asynchronous body reaches it")
    func cancelAtTheStart() async {
        let queue = TaskQueue()
        for round in 0..<500 {
            let task = Task<Int>.async { try await AsyncTask.sleep(for: .seconds(600)); return 1 }
            queue.add(task: task)
            while !task.isExecuting { await AsyncTask.yield() }
            for _ in 0..<round % 50 { _ = task.state }
            task.cancel()
            #expect(await task.result().error is CancellationError)
        }
    }

    @Test("a dependency may be added while the dependent waits for its turn")
    func addedLate() async throws {
        let queue = TaskQueue()
        queue.suspend()
        let log = Log<Int>()
        let second = queue.add { log.note(2) }
        #expect(second.state == .ready)
        let first = Task.inline { log.note(1) }
        #expect(second.add(dependency: first))
        #expect(second.state == .pending)
        queue.resume()
        _ = try await second.value
        #expect(log.all == [1, 2])
    }

    @Test("of a million in a chain run on a flat stack, whether it is built forwards or backwards", arguments: [true, false])
    func chain(forwards: Bool) async throws {
        let length = many
        let queue = TaskQueue()
        let count = Counter()
        var tasks: [Task<Void>] = (0..<length).map { _ in Task.inline { count.add() } }
        if forwards {
            for index in 1..<length { tasks[index].add(dependency: tasks[index - 1]) }
        } else {
            for index in (1..<length).reversed() { tasks[index].add(dependency: tasks[index - 1]) }
        }
        let last = tasks[length - 1]
        tasks = []
        queue.add(task: last)
        try await last.value
        #expect(count.count == length)
    }

    @Test("of a million in a chain fail one after another, not one inside the other")
    func failingChain() async throws {
        let length = many
        var tasks: [Task<Void>] = (0..<length).map { _ in Task.inline {} }
        for index in 1..<length { tasks[index].add(dependency: tasks[index - 1], requiring: .success) }
        let (first, last) = (tasks[0], tasks[length - 1])
        tasks = []
        let queue = TaskQueue()
        queue.suspend()
        queue.add(task: last)
        first.cancel()
        #expect(await last.result().error is DependencyError)
        queue.resume()
    }

    @Test("of a million that nobody starts go without a deep stack")
    func dropped() {
        let census = Census()
        do {
            var tasks: [Task<Void>] = (0..<many).map { index in
                guard index % (many / 10) == 0 else { return Task.inline {} }
                let tracked = census.newborn()
                return Task.inline { tracked.touch() }
            }
            for index in 1..<tasks.count { tasks[index].add(dependency: tasks[index - 1]) }
            let last = tasks[tasks.count - 1]
            tasks = []
            #expect(census.alive == 10)
            withExtendedLifetime(last) {}
        }
        #expect(census.alive == 0)
    }

    @Test("that are over are all given back, in a chain and in a tree, with their results")
    func givenBack() async throws {
        let length = many / 10
        let census = Census()
        do {
            let queue = TaskQueue()
            // A result lives as long as its task, whom an edge that is left over would keep.
            let chain = (0..<length).map { _ in Task.inline { census.newborn() } }
            let tree = (0..<length).map { _ in Task.inline { census.newborn() } }
            for index in 1..<length {
                chain[index].add(dependency: chain[index - 1])
                tree[(index - 1) / 2].add(dependency: tree[index])
            }
            queue.add(tasks: chain + tree)
            try await chain[length - 1].value.touch()
            try await tree[0].value.touch()
            await queue.drained()
            #expect(census.alive == 2 * length)
            withExtendedLifetime((chain, tree)) {}
        }
        #expect(eventually { census.alive == 0 })
    }

    /// A sanitizer's allocator keeps what is freed, and its shadows are as much again.
    private static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

    @Test("give their memory back when they are over", .enabled(if: !isSanitized, "a sanitizer keeps what is freed"))
    func memory() async {
        // In a process of its own, whose memory nobody else takes.
        await #expect(processExitsWith: .success) {
            func mebibytes() -> Int {
                let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")[1]
                return pages.flatMap { Int($0) }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) / (1 << 20) } ?? 0
            }
            // What is free goes back to the system, where the C library keeps it for the next one.
            func trim() {
                guard let trim = dlsym(nil, "malloc_trim") else { return }
                _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
            }
            func graph(isTree: Bool) -> Int {
                let tasks = (0..<1 << 17).map { number in Task.inline { number } }
                for i in tasks.indices.dropFirst() {
                    if isTree { tasks[(i - 1) / 2].add(dependency: tasks[i]) } else { tasks[i].add(dependency: tasks[i - 1]) }
                }
                let queue = TaskQueue()
                queue.add(tasks: tasks)
                queue.waitUntilAllTasksAreFinished()
                return mebibytes()
            }
            _ = await TaskQueue().add {}.result()
            let before = mebibytes()
            for isTree in [false, true] {
                let most = graph(isTree: isTree)
                trim()
                let after = mebibytes()
                // A task, its closure and its edge are some 280 bytes.
                precondition(before > 0 && most - before >= 20, "\(before), then \(most) MiB: that is no graph")
                precondition(after - before <= (most - before) / 2, "\(before), then \(most) and \(after) MiB")
            }
        }
    }

    @Test("in a tree of 2^16 leaves give their sum")
    func tree() async throws {
        var level = (0..<(1 << 16)).map { index in Task.inline { index } }
        while level.count > 1 {
            level = (0..<(level.count / 2)).map { index in
                let (left, right) = (level[2 * index], level[2 * index + 1])
                let sum = Task.inline { (left.result?.value ?? 0) + (right.result?.value ?? 0) }
                sum.add(dependency: left)
                sum.add(dependency: right)
                return sum
            }
        }
        TaskQueue().add(task: level[0])
        #expect(try await level[0].value == (1 << 16) * ((1 << 16) - 1) / 2)
    }

    @Test("in a wavefront each wait for their left and upper neighbours")
    func wavefront() async throws {
        let size = 100
        let queue = TaskQueue()
        let faults = Counter()
        let done = (0..<size * size).map { _ in Counter() }
        var tasks: [Task<Void>] = []
        for row in 0..<size {
            for column in 0..<size {
                let task = Task.inline {
                    if row > 0, done[(row - 1) * size + column].count == 0 { faults.add() }
                    if column > 0, done[row * size + column - 1].count == 0 { faults.add() }
                    done[row * size + column].add()
                }
                if row > 0 { task.add(dependency: tasks[(row - 1) * size + column]) }
                if column > 0 { task.add(dependency: tasks[row * size + column - 1]) }
                tasks.append(task)
            }
        }
        queue.add(tasks: tasks)
        for task in tasks { try await task.value }
        #expect(faults.count == 0)
        #expect(done.allSatisfy { $0.count == 1 })
        await queue.drained()
        #expect(queue.tasks.isEmpty)
    }

    @Test("a dependent whose queue is full keeps no other one waiting", arguments: [TaskQueue.BackPressure.wait, .callerRuns, .reject])
    func fullQueue(policy: TaskQueue.BackPressure) {
        let full = TaskQueue(pendingLimit: 1, policy: policy, scheduler: makeScheduler())
        let free = TaskQueue(scheduler: makeScheduler())
        let (first, held, other) = (Task<Int> { _ in {} }, Task.inline { 2 }, Task.inline { 3 })
        free.add(task: first)
        #expect(eventually { first.isExecuting })
        held.add(dependency: first)
        other.add(dependency: first)
        full.suspend()
        full.async {}
        full.add(task: held)
        free.add(task: other)
        free.async { first.finish(with: .value(1)) }
        #expect(other.wait(timeout: .seconds(20)) == .success)
        #expect(held.state == .ready)
        full.resume()
        #expect(held.wait(timeout: .seconds(20)) == .success)
        #expect(held.result?.value == 2)
    }

    @Test("what the program adds passes the queue's limit, also where its dependencies are over")
    func fullForProducers() {
        let full = TaskQueue(pendingLimit: 1, policy: .reject, scheduler: makeScheduler())
        full.suspend()
        full.async {}
        let (over, plain, dependent) = (Task.inline { 0 }, Task.inline { 1 }, Task.inline { 2 })
        over.start()
        #expect(over.isFinished)
        dependent.add(dependency: over)
        full.add(task: plain)
        full.add(task: dependent)
        #expect(plain.isCancelled && dependent.isCancelled)
        #expect(full.rejectedTaskCount == 2)
        full.resume()
    }

    @Test("a task runs on the queue to which the program adds it while a dependent brings it to another")
    func addedWhileBrought() {
        let mine = TaskQueue.concurrent(label: "mine")
        for round in 0..<500 {
            let other = TaskQueue.concurrent(label: "other")
            other.suspend()
            let task = Task.inline { TaskQueue.currentLabel ?? "" }
            let dependent = Task.inline {}
            dependent.add(dependency: task)
            onThreads(2) { side in
                if side == 0 {
                    other.add(task: dependent)
                } else {
                    for _ in 0..<round % 50 { sched_yield() }
                    mine.add(task: task)
                }
            }
            #expect(task.wait(timeout: .seconds(60)) == .success)
            #expect(task.result?.value == "mine")
            other.resume()
            dependent.waitUntilFinished()
        }
    }

    @Test("a task that moved to another queue is cancelled by that queue alone, and counts there")
    func moved() {
        for cancelsNew in [true, false] {
            let (old, new) = (TaskQueue(), TaskQueue())
            old.suspend()
            new.suspend()
            let (task, dependent) = (Task.inline { 1 }, Task.inline { 2 })
            dependent.add(dependency: task)
            old.add(task: dependent)
            new.add(task: task)
            #expect(new.tasks.contains { $0 === task })
            (cancelsNew ? new : old).cancelAll()
            new.resume()
            old.resume()
            task.waitUntilFinished()
            new.waitUntilAllTasksAreFinished()
            #expect(task.isCancelled == cancelsNew)
            #expect(eventually { new.tasks.isEmpty && old.tasks.isEmpty })
        }
    }

    @Test("a chain of tasks lets closures of its band and of higher bands run")
    func chainYields() {
        for qos in [TaskQueue.QoS.default, .userInteractive] {
            let scheduler = makeScheduler(workers: 1)
            let (queue, other) = (TaskQueue(scheduler: scheduler), TaskQueue(qos: qos, scheduler: scheduler))
            let (ran, seen) = (Counter(), Log<Int>())
            let tasks = (0..<200).map { i in
                Task.inline {
                    if i == 0 { other.async { seen.note(ran.count) } }
                    ran.add()
                }
            }
            for i in 1..<tasks.count { tasks[i].add(dependency: tasks[i - 1]) }
            let start = Task<Void> { _ in {} }
            start.start()
            tasks[0].add(dependency: start)
            queue.add(tasks: tasks)
            start.finish(with: .value(()))
            tasks.last?.waitUntilFinished()
            #expect(eventually { seen.all.count == 1 })
            #expect(ran.count == 200)
            #expect(seen.all.allSatisfy { $0 <= 20 })
        }
    }

    @Test("a task cancels its queue, and the dependent that was to run next does not begin")
    func cancelsInAChain() {
        let scheduler = makeScheduler(workers: 1)
        let (queue, ran) = (TaskQueue(scheduler: scheduler), Counter())
        let tasks = (0..<10).map { i in
            Task.inline {
                ran.add()
                if i == 4 { queue.cancelAll() }
            }
        }
        for i in 1..<tasks.count { tasks[i].add(dependency: tasks[i - 1]) }
        queue.add(tasks: tasks)
        for task in tasks { task.waitUntilFinished() }
        #expect(ran.count == 5)
        #expect(tasks[4...].allSatisfy { $0.result?.error?.isCancellation == true })
    }
}
