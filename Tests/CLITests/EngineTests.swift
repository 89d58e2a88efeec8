import OverdriveCore
import Synchronization
import Testing

@testable import overdrive_cli

@Suite("Slots")
struct SlotsTests {
    @Test("hand out as many as there are, and again what came back")
    func bounded() {
        let slots = Slots(2)
        #expect(slots.take() && slots.take() && !slots.take())
        slots.giveBack()
        #expect(slots.take() && !slots.take())
    }

    @Test("never go over their number, whoever takes them")
    func contended() {
        let slots = Slots(3)
        let holders = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        Parallel.forEach(0..<100_000) { _ in
            guard slots.take() else { return }
            let now = holders.add(1, ordering: .relaxed).newValue
            most.max(now, ordering: .relaxed)
            holders.subtract(1, ordering: .relaxed)
            slots.giveBack()
        }
        #expect(most.load(ordering: .relaxed) <= 3)
        #expect(slots.take() && slots.take() && slots.take() && !slots.take())
    }
}

@Suite("Engines")
struct EngineTests {
    private static func engines() throws -> [any Engine] {
        try EngineName.allCases.map { try $0.make(jobs: nil, placement: .automatic) }
    }

    @Test("run every closure once, those included that closures submit")
    func everyClosure() throws {
        for engine in try Self.engines() {
            let ran = Counter()
            for _ in 0..<100 {
                engine.submit {
                    ran.add()
                    for _ in 0..<10 { engine.submit { ran.add() } }
                }
            }
            engine.wait()
            #expect(ran.value == 1100, "\(engine.name)")
        }
    }

    @Test("wait at once when nothing was submitted, and again after more was")
    func waiting() throws {
        for engine in try Self.engines() {
            engine.wait()
            for round in 1...3 {
                let ran = Counter()
                for _ in 0..<round { engine.submit { ran.add() } }
                engine.wait()
                #expect(ran.value == round, "\(engine.name)")
            }
        }
    }

    @Test("the serial one runs in order, one at a time")
    func serialOrder() {
        let engine = SerialEngine()
        let order = Mutex<[Int]>([])
        let atOnce = Gauge()
        for number in 0..<1000 {
            engine.submit {
                atOnce.enter()
                order.withLock { $0.append(number) }
                atOnce.leave()
            }
        }
        engine.wait()
        #expect(order.withLock { $0 } == Array(0..<1000))
        #expect(atOnce.most == 1)
    }

    @Test("keep to the number of jobs", arguments: [EngineName.dispatch, .overdrive], [1, 2, 3])
    func limit(name: EngineName, jobs: Int) throws {
        let engine = try name.make(jobs: jobs, placement: .automatic)
        let atOnce = Gauge()
        for _ in 0..<500 {
            engine.submit {
                atOnce.enter()
                for _ in 0..<100 { atOnce.look() }
                atOnce.leave()
            }
        }
        engine.wait()
        #expect(engine.workerCount == jobs)
        #expect((1...jobs).contains(atOnce.most))
    }

    @Test("refuse no number of jobs that the command lets through", arguments: [1, 7, EngineName.mostJobs])
    func manyJobs(jobs: Int) throws {
        let engine = try EngineName.overdrive.make(jobs: jobs, placement: .automatic)
        #expect(engine.workerCount == jobs)
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}

/// How many are inside at once, and the most that ever were.
private final class Gauge: Sendable {
    private let inside = Atomic<Int>(0)
    private let peak = Atomic<Int>(0)

    var most: Int { peak.load(ordering: .relaxed) }

    func enter() {
        inside.add(1, ordering: .relaxed)
        look()
    }

    func look() { peak.max(inside.load(ordering: .relaxed), ordering: .relaxed) }

    func leave() { inside.subtract(1, ordering: .relaxed) }
}

@Suite("The survey")
struct SurveyTests {
    @Test("counts the files and bytes of the walk")
    func sums() throws {
        let tree = try TemporaryTree.odd()
        let roots = Roots([Array("\(tree.path)".utf8)])
        let survey = Survey(roots)
        let engine = SerialEngine()
        #expect(survey.total == nil)
        survey.start(on: engine, until: StopFlag())
        engine.wait()
        let total = try #require(survey.total)
        let list = try Command("bash", ["-c", "find '\(tree.path)' -type f -printf '%s\\n'"]).run().lines
        #expect(total.files == list.count)
        #expect(total.bytes == list.reduce(0) { $0 + (Int($1) ?? 0) })
    }

    @Test("stops when the job does")
    func stop() throws {
        let tree = try TemporaryTree.odd()
        let survey = Survey(Roots([Array("\(tree.path)".utf8)]))
        let engine = SerialEngine()
        let stop = StopFlag()
        stop.set()
        survey.start(on: engine, until: stop)
        engine.wait()
        #expect(survey.total == nil)
    }
}
