import Synchronization
import Testing

@testable import OverdriveCore

@Suite("A queue's specific value", .timeLimit(.minutes(10)))
struct SpecificsTests {
    private let key = TaskQueue.SpecificKey<Int>()

    private func queues() -> [TaskQueue] {
        let scheduler = makeScheduler()
        return [
            TaskQueue(scheduler: scheduler), .serial(scheduler: scheduler),
            TaskQueue(maxConcurrentTaskCount: 2, scheduler: scheduler),
        ]
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

    @Test("may ask for another as it goes")
    func asksAsItGoes() {
        final class Asks: Sendable {
            let ask: @Sendable () -> Void
            init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }
            deinit { ask() }
        }
        let (queue, seen, replaced) = (TaskQueue(scheduler: makeScheduler()), Log<Int?>(), TaskQueue.SpecificKey<Asks>())
        queue.setSpecific(key: key, value: 7)
        for _ in 0..<2 {
            queue.setSpecific(key: replaced, value: Asks { [weak queue, key] in seen.note(queue?.getSpecific(key: key)) })
        }
        queue.setSpecific(key: replaced, value: nil)
        #expect(seen.all == [7, 7])
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

    @Test("A label that is cut ends with a whole character", arguments: ["é", "日", "👩‍👩‍👧"])
    func cutLabel(character: String) {
        let label = "a" + String(repeating: character, count: 40)
        let seen = TaskQueue.serial(label: label).sync { TaskQueue.currentLabel ?? "" }
        #expect(label.hasPrefix(seen) && seen.utf8.count <= 47 && seen.utf8.count + character.utf8.count > 47)
    }
}
