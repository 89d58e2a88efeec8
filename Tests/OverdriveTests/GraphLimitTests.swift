import Foundation
import Overdrive
import Synchronization
import Testing
import TestSupport

@Suite("Time limits of graph nodes", .timeLimit(.minutes(10)))
struct GraphLimitTests {
    private func failedNode(_ error: (any Error)?) -> String? {
        guard case .failed(let node, let cause, _)? = error as? TaskGraphError, cause is TaskGraph.TimeLimitError else { return nil }
        return node
    }

    @Test("a node that exceeds its limit is asked to end, and fails", arguments: [false, true], [1, 4])
    func exceeded(suspends: Bool, workers: Int) async throws {
        let graph = TaskGraph(name: "limits")
        let (ran, alive) = (Counter(), Counter())
        let slow =
            if suspends {
                graph.node("slow") { () async throws -> Owner in
                    try await AsyncTask.sleep(for: .seconds(600))
                    return Owner(alive)
                }
            } else {
                graph.node("slow") { () -> Owner in
                    while !Cancellation.isRequested {}
                    return Owner(alive)
                }
            }
        graph.limit(slow, to: .milliseconds(5))
        graph.node(after: slow) { _ in ran.add() }
        let quick = graph.node("quick") { Owner(alive) }
        graph.limit(quick, to: .seconds(600))
        let frozen = try graph.freeze(scheduler: Scheduler(workers: workers))
        for _ in 0..<3 {
            let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
            #expect(failedNode(error) == "slow")
            #expect("\(try #require(error))" == "TaskGraph.run: node \"slow\" failed (time limit exceeded (5 ms)).")
        }
        #expect(ran.count == 0 && alive.count == 0)
    }

    @Test("a limit counts for each attempt, and a later attempt may pass")
    func retries() async throws {
        let (graph, attempts) = (TaskGraph(), Counter())
        let node = graph.node("twice", retry: RetryPolicy(attempts: 2)) { () -> Int in
            if attempts.add() % 2 == 1 { while !Cancellation.isRequested {} }
            return attempts.count
        }
        graph.limit(node, to: .milliseconds(500))
        let frozen = try graph.freeze()
        for round in 1...2 { #expect(try await frozen.run()[node] == 2 * round) }
    }

    @Test("a node that never ends is left behind, also by the only worker, and keeps the memory of its run", arguments: [false, true])
    func leftBehind(byPolicy goesOn: Bool) async throws {
        let (graph, gate, alive) = (TaskGraph(onFailure: goesOn ? .goOn : .skipDependents), WaitGroup(), Counter())
        gate.enter()
        let first = graph.node("first") { Owner(alive) }
        let stuck = graph.node("stuck", after: first, retry: RetryPolicy(attempts: 3)) { _ in
            gate.wait()
            return Owner(alive)
        }
        graph.limit(stuck, to: .milliseconds(5), waits: false)
        let after = graph.node("after", after: stuck.optional) { $0 == nil ? 1 : 2 }
        let frozen = try graph.freeze(scheduler: Scheduler(workers: 1))
        for _ in 0..<2 {
            if goesOn {
                let results = try await frozen.run()
                guard case .failed(let error) = results.outcome(of: stuck) else { return #expect(Bool(false)) }
                #expect(results[after] == 1 && error is TaskGraph.TimeLimitError)
            } else {
                let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
                #expect(failedNode(error) == "stuck")
            }
        }
        #expect(alive.count == 2, "the slabs of the two runs")
        gate.leave()
        #expect(eventually { alive.count == 0 })
    }

    @Test("a blocking run leaves a node behind")
    func blockingRun() throws {
        let (graph, gate) = (TaskGraph(), WaitGroup())
        gate.enter()
        defer { gate.leave() }
        graph.limit(graph.node("stuck") { gate.wait() }, to: .milliseconds(5), waits: false)
        let frozen = try graph.freeze()
        let error = #expect(throws: TaskGraphError.self) { try blocking { try frozen.run() } }
        #expect(failedNode(error) == "stuck")
    }

    @Test("at a limit the policy stop starts no further node, before the closure has returned")
    func stop() async throws {
        let (graph, ran, limited, gate) = (TaskGraph(onFailure: .stop), Counter(), WaitGroup(), WaitGroup())
        limited.enter()
        gate.enter()
        let slow = graph.node("slow") { () async -> Void in
            await withTaskCancellationHandler { await gate.wait() } onCancel: { limited.leave() }
        }
        graph.limit(slow, to: .milliseconds(5))
        let other = graph.node { () async -> Void in
            await limited.wait()  // The failure is noted before the cancel.
        }
        graph.node(after: other) { _ in
            ran.add()
            gate.leave()
        }
        let frozen = try graph.freeze()
        AsyncTask {
            try await AsyncTask.sleep(for: .milliseconds(500))
            if ran.count == 0 { gate.leave() }
        }
        let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
        #expect(failedNode(error) == "slow" && ran.count == 0)
    }

    @Test("nodes with limits end when the scheduler is shut down")
    func shutDown() async throws {
        let scheduler = try Scheduler(workers: 1)
        let (graph, begun) = (TaskGraph(), WaitGroup())
        begun.enter()
        graph.limit(graph.node { begun.leave(); while !Cancellation.isRequested {} }, to: .seconds(600))
        for _ in 0..<50 { graph.limit(graph.node {}, to: .seconds(600)) }
        let frozen = try graph.freeze(scheduler: scheduler)
        async let outcome: Void = {
            let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
            guard case .cancelled? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        }()
        await begun.wait()
        // The nodes behind the first one are discarded, which cancels the run.
        let report: ShutdownReport = await scheduler.shutdown(timeout: .zero)
        let cancelled = report.cancelled
        await outcome
        #expect(cancelled > 0)
    }
}

/// Counts how many of its kind are alive.
final class Owner: Sendable {
    let alive: Counter
    init(_ alive: Counter) { self.alive = alive; alive.add() }
    deinit { alive.add(-1) }
}
