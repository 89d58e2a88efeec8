import Foundation
import Overdrive
import Synchronization
import Testing
import TestSupport

@Suite("Nodes that spawn nodes", .timeLimit(.minutes(10)))
struct GraphSpawnTests {
    @Test("spawned nodes return before the dependents of their node start, in each run, also deep ones")
    func join() async throws {
        let (graph, ran) = (TaskGraph(), Counter())
        let number = graph.node { 5 }
        let adder = graph.node("adder", after: number, graph.context) { number, context in
            @Sendable func spawn(_ depth: Int) {
                context.spawn {
                    ran.add()
                    if depth > 0 { for _ in 0..<2 { spawn(depth - 1) } }
                }
            }
            for _ in 0..<number { spawn(4) }
            context.spawn { () async throws -> Void in
                try await AsyncTask.sleep(for: .milliseconds(2))
                ran.add()
            }
            return number
        }
        let count = graph.node(after: adder) { $0 * 1000 + ran.count }
        let frozen = try graph.freeze()
        for round in 1...5 { #expect(try await frozen.run()[count] == 5000 + round * 156) }
        #expect(try blocking { try frozen.run()[count] } == 5000 + 6 * 156)
        #expect(frozen.count == 3)
    }

    @Test("a spawned node that fails fails its node, whose result goes")
    func failure() async throws {
        let (graph, alive, ran) = (TaskGraph(), Counter(), Counter())
        let adder = graph.subgraph("lib") {
            graph.node("scan", after: graph.context) { context in
                context.spawn("main.c") { throw Flaw(number: 3) }
                context.spawn { ran.add() }
                return Owner(alive)
            }
        }
        graph.node(after: adder) { _ in ran.add() }
        let frozen = try graph.freeze()
        for round in 1...3 {
            let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
            guard case .failed("lib/scan/main.c", let cause, 0)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(cause as? Flaw == Flaw(number: 3) && ran.count == round && alive.count == 0)
        }
    }

    @Test("a retry spawns again, after all spawned nodes have returned")
    func retry() async throws {
        let (graph, attempts, under) = (TaskGraph(), Counter(), Counter())
        let adder = graph.node("adder", after: graph.context, retry: RetryPolicy(attempts: 2)) { context in
            #expect(under.count == 0)
            let isFirst = attempts.add() % 2 == 1
            for i in 0..<8 {
                under.add()
                context.spawn {
                    under.add(-1)
                    if isFirst, i == 2 { throw Flaw() }
                }
            }
            return attempts.count
        }
        let frozen = try graph.freeze()
        for round in 1...20 { #expect(try await frozen.run()[adder] == 2 * round) }
    }

    @Test("a cancelled run starts no further spawned node")
    func cancelled() async throws {
        let (graph, token, ran, alive) = (TaskGraph(), CancellationToken(), Counter(), Counter())
        graph.node("adder", after: graph.context) { context in
            token.cancel()
            for _ in 0..<10 { context.spawn { ran.add() } }
            return Owner(alive)
        }
        let frozen = try graph.freeze()
        let error = await #expect(throws: TaskGraphError.self) { try await frozen.run(token: token) }
        guard case .cancelled(unfinished: 1)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(ran.count == 0 && alive.count == 0)
    }

    @Test("a time limit covers spawned nodes")
    func limit() async throws {
        let graph = TaskGraph()
        let adder = graph.node("adder", after: graph.context) { context in
            context.spawn { while !Cancellation.isRequested {} }
            context.spawn { () async throws -> Void in try await AsyncTask.sleep(for: .seconds(600)) }
        }
        graph.limit(adder, to: .milliseconds(5))
        let frozen = try graph.freeze()
        let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
        guard case .failed("adder", let cause, 0)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(cause is TaskGraph.TimeLimitError)
    }

    @Test("a report has spawned nodes, between their node and its dependents")
    func report() async throws {
        let (graph, recorder) = (TaskGraph(), RunRecorder())
        let adder = graph.node("adder", after: graph.context) { context in
            context.spawn("slow") { usleep(5_000) }
        }
        graph.node("last", after: adder) { _ in }
        // With one worker the spawned closure begins after its node's closure.
        _ = try await graph.freeze(scheduler: Scheduler(workers: 1)).run(recording: recorder)
        let report = recorder.report
        #expect(report.entries.map(\.name) == ["adder", "last", "adder/slow"])
        #expect(report.criticalPath.map(\.name) == ["adder", "adder/slow", "last"])
        #expect(report.entries[2].time >= .milliseconds(5) && report.entries[1].dependencies == [0, 2])
    }
}
