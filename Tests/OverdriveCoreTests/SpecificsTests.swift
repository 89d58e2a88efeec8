import Synchronization
import Testing

@testable import OverdriveCore

@Suite("A queue's specific value", .timeLimit(.minutes(10)))
struct SpecificsTests {
    private let key = TaskQueue.SpecificKey<Int>()
    private let other = TaskQueue.SpecificKey<Int>()

    private func queues() -> [TaskQueue] {
        let scheduler = makeScheduler()
        return [
            TaskQueue(scheduler: scheduler), .serial(scheduler: scheduler),
            TaskQueue(maxConcurrentTaskCount: 2, scheduler: scheduler),
        ]
    }

    @Test("is set, replaced and taken away, by its key")
    func set() {
        for queue in queues() {
            #expect(queue.getSpecific(key: key) == nil)
            queue.setSpecific(key: key, value: nil)
            queue.setSpecific(key: key, value: 1)
            #expect(queue.getSpecific(key: key) == 1)
            #expect(queue.getSpecific(key: other) == nil)
            queue.setSpecific(key: key, value: 2)
            queue.setSpecific(key: other, value: 3)
            #expect(queue.getSpecific(key: key) == 2)
            #expect(queue.getSpecific(key: other) == 3)
            queue.setSpecific(key: key, value: nil)
            #expect(queue.getSpecific(key: key) == nil)
            #expect(queue.getSpecific(key: other) == 3)
        }
    }

    /// Each submission took a mutex once a value was there.
    @Test("puts no lock into submissions", .timeLimit(.minutes(5)))
    func noLock() throws {
        for queue in queues() {
            queue.setSpecific(key: key, value: 1)
            let specifics = try #require(queue.specifics(make: false))
            let runs = Counter()
            // Held by this thread, while another one submits.
            let isThrough = specifics.tracking.withLock { _ in
                onThread {
                    for _ in 0..<10 { queue.async { runs.add() } }
                    queue.async(qos: .userInitiated, flags: .barrier) { runs.add() }
                }
                return eventually { runs.count == 11 }
            }
            #expect(isThrough)
        }
    }

    @Test("is seen inside of its closures, of whatever kind, and not outside")
    func inside() async throws {
        for (number, queue) in queues().enumerated() {
            queue.setSpecific(key: key, value: number)
            let there = try await queue.run { [key] in TaskQueue.getSpecific(key: key) }
            #expect(there == number)
            let seen = Log<Int?>()
            queue.async { [key] in seen.note(TaskQueue.getSpecific(key: key)) }
            queue.async(execute: WorkItem { [key] in seen.note(TaskQueue.getSpecific(key: key)) })
            await queue.drained()
            seen.note(queue.sync { TaskQueue.getSpecific(key: key) })
            queue.concurrentPerform(iterations: 5) { [key] _ in seen.note(TaskQueue.getSpecific(key: key)) }
            #expect(seen.all == Array(repeating: number, count: 8))
        }
        onThreads(1) { [key] _ in #expect(TaskQueue.getSpecific(key: key) == nil) }
    }

    @Test("of the innermost queue that has one counts")
    func nested() {
        let (outer, inner, plain) = (queues()[0], queues()[1], queues()[1])
        outer.setSpecific(key: key, value: 1)
        outer.setSpecific(key: other, value: 10)
        inner.setSpecific(key: key, value: 2)
        let seen = Log<Int?>()
        outer.async { [key, other] in
            plain.sync {
                seen.note(TaskQueue.getSpecific(key: key))
                inner.sync {
                    seen.note(TaskQueue.getSpecific(key: key))
                    seen.note(TaskQueue.getSpecific(key: other))
                }
                seen.note(TaskQueue.getSpecific(key: key))
            }
        }
        outer.waitUntilAllTasksAreFinished()
        #expect(seen.all == [1, 2, 10, 1])
    }

    @Test("stays while the queue's closures run, and goes with the last", arguments: [1, TaskQueue.unlimited])
    func lifetime(width: Int) {
        let census = Census()
        let tracked = TaskQueue.SpecificKey<Tracked>()
        let scheduler = makeScheduler(workers: 1)
        let (gate, done) = (Gate(), WaitGroup())
        let missing = Counter()
        do {
            let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: scheduler)
            queue.setSpecific(key: tracked, value: census.newborn())
            queue.setSpecific(key: tracked, value: census.newborn())
            #expect(census.died == 1)
            for _ in 0..<3 {
                queue.async(group: done) {
                    gate.pass()
                    if TaskQueue.getSpecific(key: tracked) == nil { missing.add() }
                }
            }
        }
        #expect(census.alive == 1)
        gate.open()
        done.wait()
        #expect(missing.count == 0)
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 2)
    }

    @Test("is nobody's on a new queue in an old one's place")
    func reuse() {
        for round in 0..<200 {
            let queue = TaskQueue(scheduler: .shared)
            #expect(queue.getSpecific(key: key) == nil)
            queue.setSpecific(key: key, value: round)
            #expect(queue.getSpecific(key: key) == round)
        }
    }

    @Test("set by several threads at once is one of theirs")
    func races() {
        for _ in 0..<200 {
            let queue = TaskQueue(scheduler: .shared)
            onThreads(3) { [key] thread in queue.setSpecific(key: key, value: thread) }
            #expect((0..<3).contains(queue.getSpecific(key: key) ?? -1))
        }
    }

    @Test("of the main queue is seen on the main thread")
    func main() async {
        let mine = TaskQueue.SpecificKey<String>()
        TaskQueue.main.setSpecific(key: mine, value: "main")
        let seen = await MainActor.run { TaskQueue.getSpecific(key: mine) }
        #expect(seen == "main")
        let onMain = await MainActor.run { TaskQueue.currentLabel }
        #expect(onMain == "main")
        #expect(TaskQueue.main.getSpecific(key: mine) == "main")
        TaskQueue.main.setSpecific(key: mine, value: nil)
    }

    // MARK: - Where the caller is

    @Test("has the queue's label beside it")
    func labels() {
        let scheduler = makeScheduler()
        let pages = TaskQueue.concurrent(label: "pages", scheduler: scheduler)
        let journal = TaskQueue.serial(label: "journal", scheduler: scheduler)
        let seen = Log<String?>()
        pages.async {
            seen.note(TaskQueue.currentLabel)
            journal.sync { seen.note(TaskQueue.currentLabel) }
            seen.note(TaskQueue.currentLabel)
        }
        pages.waitUntilAllTasksAreFinished()
        onThreads(1) { _ in seen.note(TaskQueue.currentLabel) }
        #expect(seen.all == ["pages", "journal", "pages", nil])
    }

    @Test("is asserted to be near, or not")
    func assertions() {
        let (pages, journal) = (queues()[0], queues()[1])
        pages.async {
            pages.assertOnQueue()
            journal.assertNotOnQueue()
            journal.sync {
                pages.assertOnQueue()
                journal.assertOnQueue()
            }
            journal.assertNotOnQueue()
        }
        pages.waitUntilAllTasksAreFinished()
        onThreads(1) { _ in pages.assertNotOnQueue() }
    }
}
