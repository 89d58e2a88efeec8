import Foundation
import Overdrive
import TestSupport
import Testing

/// What a queue's delegate is told: of each task that came, once that it was added, that it will finish and that it did,
/// in this order; of one that was over before it came, nothing.
@Suite("A queue's delegate", .timeLimit(.minutes(10)))
struct DelegateTests {
    private final class Listener: TaskQueueDelegate {
        let log = Log<String>()
        let whenAdded: @Sendable (AnyTask) -> Void

        init(whenAdded: @escaping @Sendable (AnyTask) -> Void = { _ in }) {
            self.whenAdded = whenAdded
        }

        func didAdd<T>(task: Task<T>, to queue: TaskQueue) {
            log.note("\(task.name ?? "-") didAdd")
            whenAdded(task)
        }
        func willFinish<T>(task: Task<T>, in queue: TaskQueue) { log.note("\(task.name ?? "-") willFinish") }
        func didFinish<T>(task: Task<T>, in queue: TaskQueue) { log.note("\(task.name ?? "-") didFinish") }
        func didRetry<T>(task: Task<T>, in queue: TaskQueue) { log.note("\(task.name ?? "-") didRetry") }
    }

    private static func whole(_ name: String) -> [String] { ["\(name) didAdd", "\(name) willFinish", "\(name) didFinish"] }

    @Test("may take a dependency away that is just brought along: neither end is kept then")
    func takenAway() {
        weak var (brought, rest): (Task<Void>?, Task<Void>?)
        do {
            let (dependency, dependent, queue) = (Task.inline {}, Task.inline {}, TaskQueue())
            (brought, rest) = (dependency, dependent)
            dependent.add(dependency: dependency)
            let listener = Listener { if $0 === dependency { dependent.remove(dependency: dependency) } }
            queue.delegate = listener
            queue.add(task: dependent)
            queue.waitUntilAllTasksAreFinished()
            #expect(listener.log.all.count == 6)
        }
        #expect(eventually { brought == nil && rest == nil })
    }

    /// It waited for its parent's task for ever, or for a lock that a thread of the parent's held.
    @Test("is a forked child's too, whose queue has none of its parent's tasks, and whose child's is the same")
    func forked() async {
        await #expect(processExitsWith: .success) {
            func drain(_ queue: TaskQueue) { queue.waitUntilAllTasksAreFinished() }
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
            let (queue, listener, gate) = (TaskQueue(), Listener(), Gate())
            queue.delegate = listener
            queue.timesTasks = true
            let parents = queue.add { gate.pass() }
            let behind = Task.inline { 2 }
            behind.add(dependency: parents)
            queue.add(task: behind)
            _ = eventually { gate.arrivals == 1 }
            var generation = 0
            while generation < 2, fork() == 0 {
                generation += 1
                var none = sigset_t()
                pthread_sigmask(SIG_SETMASK, &none, nil)
                alarm(60)
                let own = Task.inline { 1 }
                own.name = "child's \(generation)"
                queue.add(task: own)
                drain(queue)
                guard queue.tasks.isEmpty, own.isFinished, own.duration != nil else { _exit(2) }
                guard listener.log.all.suffix(3) == Self.whole("child's \(generation)")[...] else { _exit(3) }
                behind.cancel()  // what becomes of it is no matter of the child's queue
            }
            var status: Int32 = 0
            if generation < 2 { wait(&status) }
            guard generation == 0 else { _exit(status == 0 ? 0 : 4) }
            gate.open()
            drain(queue)
            exit(status == 0 && queue.tasks.isEmpty ? 0 : 5)
        }
    }

    @Test("hears nothing of a task that was cancelled before it was added")
    func overBefore() {
        let (queue, listener) = (TaskQueue(), Listener())
        queue.delegate = listener
        let (over, other) = (Task.inline { 1 }, Task.inline { 2 })
        (over.name, other.name) = ("over", "other")
        over.cancel()
        queue.add(task: over)
        queue.add(task: other)
        queue.waitUntilAllTasksAreFinished()
        #expect(listener.log.all == Self.whole("other"))
        #expect(over.result?.error is CancellationError && queue.tasks.isEmpty)
    }

    @Test("hears the end of a task that it cancels when it is told of it, and hears it afterwards")
    func cancelsWhenTold() {
        let (queue, listener) = (TaskQueue(), Listener { $0.cancel() })
        queue.delegate = listener
        let task = Task.inline { 1 }
        task.name = "task"
        queue.add(task: task)
        queue.waitUntilAllTasksAreFinished()
        #expect(listener.log.all == Self.whole("task"))
        #expect(task.result?.error is CancellationError && queue.tasks.isEmpty)
    }

    @Test("hears all of a task or nothing, however its adding and its cancelling meet")
    func races() {
        let (queue, listener) = (TaskQueue(), Listener())
        queue.delegate = listener
        let names = (0..<2_000).map(String.init)
        let tasks = names.map { name in
            let task = Task.inline { 1 }
            task.name = name
            return task
        }
        let (canceller, group) = (TaskQueue(), WaitGroup())
        canceller.async(group: group) { for task in tasks { task.cancel() } }
        for task in tasks { queue.add(task: task) }
        group.wait()
        queue.waitUntilAllTasksAreFinished()
        var heard: [Substring: [String]] = [:]
        for line in listener.log.all { heard[line.prefix { $0 != " " }, default: []].append(line) }
        for (name, lines) in heard { #expect(lines == Self.whole(String(name))) }
        #expect(tasks.allSatisfy(\.isFinished) && queue.tasks.isEmpty)
    }

    @Test("hears nothing of tasks that were added before it came, and the rest of those that it heard of")
    func comesLater() {
        let queue = TaskQueue()
        let (first, second) = (Listener(), Listener())
        let tasks = ["nobody's", "first's", "second's", "nobody's again"].map { name in
            let attempts = Counter()
            let task = Task<Int>.inline { if attempts.add() == 1 { throw Flaw() } else { 1 } }
            task.name = name
            return task.retry()
        }
        queue.suspend()
        queue.add(task: tasks[0])
        queue.delegate = first
        queue.add(task: tasks[1])
        queue.delegate = second
        queue.add(task: tasks[2])
        queue.delegate = nil
        queue.add(task: tasks[3])
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(first.log.all == Self.attemptedTwice("first's"))
        #expect(second.log.all == Self.attemptedTwice("second's"))
    }

    private static func attemptedTwice(_ name: String) -> [String] {
        ["didAdd", "didRetry", "willFinish", "didFinish"].map { "\(name) \($0)" }
    }
}
