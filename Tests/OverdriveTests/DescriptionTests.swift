import Overdrive
import Testing

/// What a program sees of its tasks from outside: numbers, names, durations, and how many are done.
@Suite("Looking at tasks", .timeLimit(.minutes(10)))
struct DescriptionTests {
    private struct Offline: Error {}

    @Test("each has a number of its own, the same at every look")
    func numbers() {
        let tasks = (0..<100).map { _ in Task.inline { 1 } }
        let numbers = tasks.map(\.taskIdentifier)
        #expect(Set(numbers).count == 100 && numbers.allSatisfy { $0 > 0 })
        #expect(tasks.map(\.taskIdentifier) == numbers)
    }

    @Test("print says type, number, name and how it stands")
    func printing() throws {
        let queue = TaskQueue.serial(label: "printed")
        let (begun, go) = (Gate(), Gate())
        let task = Task.inline { () -> Int in
            begun.open()
            go.pass()
            return 1
        }
        let head = "Task<Int> #\(task.taskIdentifier)"
        #expect("\(task)" == head + " (initialized)")
        task.name = "one"
        task.isTimed = true
        queue.add(task: task)
        begun.pass()
        #expect("\(task)".hasPrefix(head + " \"one\" (executing for ") && "\(task)".hasSuffix("s)"), "\(task)")
        let waiting = queue.add { 2 }
        #expect("\(waiting)".hasSuffix(" (ready)"))
        go.open()
        try task.wait()
        #expect("\(task)".hasPrefix(head + " \"one\" (succeeded in ") && "\(task)".hasSuffix("s)"), "\(task)")
        try waiting.wait()
        #expect("\(waiting)" == "Task<Int> #\(waiting.taskIdentifier) (succeeded)")
        let failed = queue.add { () throws -> Int in throw Offline() }
        failed.waitUntilFinished()
        #expect("\(failed)".hasSuffix(" (failed: Offline())"))
        let cancelled = Task.inline { 1 }
        cancelled.cancel()
        #expect("\(cancelled)".hasSuffix(" (cancelled)"))
        #expect("\(TaskGroup())" == "TaskGroup (0 unfinished)")
    }

    @Test("a subclass may say more of itself")
    func subclass() {
        final class Logo: Task<Int>, @unchecked Sendable {
            override var description: String { "logo of " + super.description }
        }
        #expect("\(Logo())".hasPrefix("logo of Logo #"))
    }

    @Test("durations are measured where they are asked for, of the last attempt")
    func durations() throws {
        let queue = TaskQueue.serial(label: "timed")
        let untimed = queue.add { 1 }
        try untimed.wait()
        #expect(untimed.duration == nil)
        queue.timesTasks = true
        let (attempts, failed) = (Counter(), Log<ContinuousClock.Instant>())
        let task = Task.inline { () throws -> Int in
            attempts.add()
            let wait: Duration = attempts.count == 1 ? .milliseconds(300) : .milliseconds(30)
            let begin = ContinuousClock.now
            #expect(eventually { ContinuousClock.now - begin >= wait })
            if attempts.count == 1 {
                failed.note(.now)
                throw Offline()
            }
            return 1
        }.retry(1)
        #expect(task.duration == nil)
        queue.add(task: task)
        try task.wait()
        let duration = try #require(task.duration)
        #expect(duration >= .milliseconds(30) && duration <= failed.all[0].duration(to: .now) && attempts.count == 2)
        #expect(task.duration == duration)  // it is over
        let neverBegun = queue.add { 1 }
        #expect(neverBegun.isTimed)
        queue.timesTasks = false
        #expect(!queue.add { 1 }.isTimed)
        queue.waitUntilAllTasksAreFinished()
    }

    @Test("an observer of the end has the whole duration")
    func observed() throws {
        struct Watch: TaskObserver {
            let log: Log<Duration?>
            func taskWillFinishExecution<T>(_ task: Task<T>) { log.note(task.duration) }
        }
        let log = Log<Duration?>()
        let task = Task.inline { 1 }
        task.isTimed = true
        task.add(observer: Watch(log: log))
        task.start()
        try task.wait()
        #expect(log.all == [task.duration] && task.duration != nil)
    }

    @Test("a queue's progress counts tasks: those that succeed, fail, are cancelled, wait, and are attempted again")
    func progress() throws {
        let queue = TaskQueue.concurrent(label: "counted")
        queue.trackProgress()
        let gate = Gate()
        let first = queue.add { gate.pass() }
        let second = Task.inline { 1 }
        second.add(dependency: first)
        queue.add(task: second)
        let attempts = Counter()
        let third = Task.inline { () throws -> Int in
            attempts.add()
            if attempts.count < 3 { throw Offline() }
            return 3
        }.retry(5)
        queue.add(task: third)
        let fourth = queue.add { () throws -> Int in throw Offline() }
        let fifth = Task.inline { 5 }
        fifth.add(dependency: first)
        queue.add(task: fifth)
        fifth.cancel()
        try third.wait()
        fourth.waitUntilFinished()
        #expect(eventually { queue.progress?.done == 3 })
        #expect(queue.progress?.description == "3 of 5, 1 failed, 1 cancelled")
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        let end = try #require(queue.progress)
        #expect(end.isFinished && end.total == 5 && end.failed == 1 && end.cancelled == 1)
        #expect(attempts.count == 3)
        queue.endProgress()
        _ = try queue.add { 6 }.wait()
        #expect(queue.progress?.total == 5)
    }

    @Test("a task that is awaited has been counted, and one that was over before it came is not")
    func counted() async throws {
        let queue = TaskQueue.concurrent(label: "awaited")
        queue.trackProgress()
        for number in 1...200 {
            _ = try await queue.add { number }.value
            #expect(queue.progress?.done == number)
        }
        let over = Task.inline { 1 }
        over.cancel()
        queue.add(task: over)
        #expect(queue.progress?.total == 200)
    }

    @Test("a task that a dependent brought elsewhere counts where the program adds it")
    func countedWhereAdded() throws {
        let (tracked, other) = (TaskQueue.concurrent(label: "tracked"), TaskQueue.concurrent(label: "other"))
        tracked.trackProgress(total: 2)
        tracked.timesTasks = true
        let gate = Gate()
        let first = Task.inline { 0 }
        first.add(dependency: other.add { gate.pass() })
        let dependent = Task.inline { 1 }
        dependent.add(dependency: first)
        other.add(task: dependent)
        tracked.add(task: first)
        _ = try tracked.add { 2 }.wait()
        #expect(tracked.progress?.done == 1)
        gate.open()
        dependent.waitUntilFinished()
        #expect(tracked.progress?.isFinished == true && first.duration != nil)
    }

    @Test("between two attempts no time passes for a task, and one that is timed no more has no duration")
    func durationOfAttempts() {
        let queue = TaskQueue.serial(label: "attempts")
        let ran = Counter()
        let task = Task.inline { () throws -> Int in
            ran.add()
            throw Offline()
        }.retry(RetryPolicy(attempts: 2, delay: .fixed(.seconds(3_600))))
        task.isTimed = true
        queue.add(task: task)
        #expect(eventually { ran.count == 1 && task.state == .pending && task.duration == task.duration })
        let between = task.duration
        let later = ContinuousClock.now + .milliseconds(2)
        while ContinuousClock.now < later {}
        #expect(between != nil && task.duration == between)
        task.cancel()
        task.waitUntilFinished()
        #expect(task.duration == between)
    }

    @Test("tasks that come from many threads, and are cancelled meanwhile, are each counted once")
    func racing() {
        let queue = TaskQueue.concurrent(label: "raced")
        queue.trackProgress()
        onThreads(4) { thread in
            for number in 0..<500 {
                let task = Task.inline { number }
                if thread % 2 == 0 { task.add(dependency: queue.add { number }) }
                queue.add(task: task)
                if number % 3 == 0 { task.cancel() }
            }
        }
        queue.waitUntilAllTasksAreFinished()
        let progress = queue.progress
        #expect(progress?.total == 3_000 && progress?.done == 3_000 && progress?.failed == 0, "\(String(describing: progress))")
    }
}
