import Dispatch
import Foundation
import Overdrive
import Synchronization
import Testing

/// A hundred thousand tasks; without optimisation fewer, unless the environment says how many.
private let many = {
    if let asked = ProcessInfo.processInfo.environment["RACING_TASKS"].flatMap({ Int($0) }) { return asked }
    var isDebug = false
    assert({ isDebug = true; return true }())
    return isDebug ? 15_000 : 100_000
}()

/// Four threads at the same tasks: cancelling, finishing, failing with retries, adding dependencies, handlers.
/// Serialized, because each test blocks a thread of Swift Concurrency's.
@Suite("Races", .serialized, .timeLimit(.minutes(10)))
struct RaceTests {
    /// What happened to one task.
    private final class Record: Sendable {
        let (values, errors, completions, cancels, bodies, late, cleanups) = (
            Counter(), Counter(), Counter(), Counter(), Counter(), Counter(), Counter()
        )
        let accepted = Counter()
    }

    @Test("One outcome each, and every handler once", arguments: [TaskQueue.unlimited, 1, 3])
    func everything(width: Int) async {
        // On a limited queue those that are open hold places until the test finds and finishes them, one by one.
        let count = width == TaskQueue.unlimited ? many : many / 15
        let queue = TaskQueue(maxConcurrentTaskCount: width)
        let census = Census()
        let records = (0..<count).map { _ in Record() }
        do {
            let gates = (0..<64).map { _ in Task.inline {} }
            let tasks: [Task<Int>] = (0..<count).map { index in
                let (record, tracked) = (records[index], census.newborn())
                let task: Task<Int>
                switch index % 3 {
                case 0:
                    task = .inline {
                        tracked.touch()
                        if record.bodies.add() == 1, index % 2 == 0 { throw Flaw() }
                        return index
                    }
                case 1:
                    task = Task { emit in
                        tracked.touch()
                        if record.bodies.add() == 1, index % 2 == 0 { emit(.failure(Flaw())) } else { emit(.update(index)) }
                        if index % 5 != 0 { emit(.completion) }
                        return { record.cleanups.add() }
                    }
                default:
                    task = .async {
                        tracked.touch()
                        record.bodies.add()
                        return index
                    }
                }
                if index % 4 == 0 { task.retry(2) }
                task.onValue { _ in record.values.add() }
                return task
            }
            onThreads(4) { thread in
                var random = SystemRandomNumberGenerator()
                for (index, task) in tasks.enumerated() {
                    let record = records[index]
                    switch thread {
                    case 0:
                        queue.add(task: task)
                    case 1:
                        if random.next() % 2 == 0 { task.add(dependency: gates[index % 64]) }
                        if random.next() % 4 == 0 { task.remove(dependency: gates[index % 64]) }
                        if random.next() % 4 == 0 { task.cancel() }
                    case 2:
                        task.onError { _ in record.errors.add() }.onCompletion { record.completions.add() }
                        task.onCancel { record.cancels.add() }
                    default:
                        if random.next() % 2 == 0, task.finish(with: .value(-1)) { record.accepted.add() }
                        // Those that nobody else will finish.
                        if index % 15 == 10 || index % 15 == 13 { task.onUpdate { _ in record.late.add() } }
                    }
                }
            }
            queue.add(tasks: gates.filter { $0.state == .initialized })
            // Progressive tasks that wait to be finished; on a limited queue they hold places that others wait for.
            var open = tasks
            var isProgress = true
            while !open.isEmpty, isProgress {
                let before = open.count
                isProgress = eventually {
                    open.removeAll { $0.isFinished }
                    for task in open where task.isExecuting { task.finish(with: .value(-2)) }
                    return open.count < before
                }
            }
            guard open.isEmpty else {
                Issue.record("\(open.count) tasks are never over: \(open.prefix(3).map(\.state))")
                return
            }
            for task in tasks { _ = await task.result() }
            await queue.drained()
            for (index, task) in tasks.enumerated() {
                let record = records[index]
                guard eventually({ record.completions.count == 1 }) else {
                    Issue.record("\(index): \(record.completions.count) completions")
                    return
                }
                let outcome = task.result
                let (values, errors, cancels) = (record.values.count, record.errors.count, record.cancels.count)
                let isRight =
                    switch outcome {
                    case .success?: values == 1 && errors == 0 && cancels == 0
                    case .failure(let error)? where error is CancellationError: values == 0 && errors == 0 && cancels == 1
                    case .failure?: values == 0 && errors == 1 && cancels == 0
                    case nil: false
                    }
                if !isRight { Issue.record("\(index): \(String(describing: outcome)) and \(values), \(errors), \(cancels)") }
                if index % 3 == 1, !eventually({ record.cleanups.count == record.bodies.count }) {
                    Issue.record("\(index): \(record.bodies.count) bodies and \(record.cleanups.count) cleanups")
                }
                if record.bodies.count > 3 { Issue.record("\(index): \(record.bodies.count) attempts") }
            }
        }
        #expect(queue.tasks.isEmpty)
        #expect(eventually { census.alive == 0 })
    }

    @Test("Of two finishes one counts")
    func finishes() {
        for _ in 0..<20_000 {
            let task = Task<Int> { _ in {} }
            let accepted = Counter()
            let completions = Counter()
            task.onCompletion { completions.add() }
            task.start()
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                if task.finish(with: .value(number)) { accepted.add() }
            }
            #expect(accepted.count == 1 && completions.count == 1)
        }
    }

    @Test("Handlers that come while others are served are served once, and after those before them")
    func handlersInOrder() {
        for _ in 0..<5_000 {
            let task = Task<Int> { _ in {} }
            task.start()
            let log = Log<Int>()
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                if thread == 0 {
                    task.finish(with: .value(0))
                } else {
                    for number in 0..<8 { task.onValue { _ in log.note(number) } }
                }
            }
            #expect(eventually { log.all.count == 8 })
            #expect(log.all == Array(0..<8))
        }
    }
}
