import OverdriveCore
import TestSupport
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
        let (slots, holders) = (Slots(3), Crowd())
        Parallel.forEach(0..<100_000) { _ in
            guard slots.take() else { return }
            holders.visit {}
            slots.giveBack()
        }
        #expect(holders.most <= 3)
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
            #expect(ran.count == 1100, "\(engine.name)")
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
                #expect(ran.count == round, "\(engine.name)")
            }
        }
    }

    @Test("the serial one runs in order, one at a time")
    func serialOrder() {
        let (engine, order, crowd) = (SerialEngine(), Log<Int>(), Crowd())
        for number in 0..<1000 {
            engine.submit { crowd.visit { order.note(number) } }
        }
        engine.wait()
        #expect(order.all == Array(0..<1000))
        #expect(crowd.most == 1)
    }

    @Test("keep to the number of jobs", arguments: [EngineName.dispatch, .overdrive], [1, 2, 3])
    func limit(name: EngineName, jobs: Int) throws {
        let engine = try name.make(jobs: jobs, placement: .automatic)
        let crowd = Crowd()
        for _ in 0..<500 {
            engine.submit { crowd.visit { for _ in 0..<100 { _ = crowd.now } } }
        }
        engine.wait()
        #expect(engine.workerCount == jobs)
        #expect((1...jobs).contains(crowd.most))
    }

    @Test("refuse no number of jobs that the command lets through", arguments: [1, 7, EngineName.mostJobs])
    func manyJobs(jobs: Int) throws {
        let engine = try EngineName.overdrive.make(jobs: jobs, placement: .automatic)
        #expect(engine.workerCount == jobs)
    }
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
