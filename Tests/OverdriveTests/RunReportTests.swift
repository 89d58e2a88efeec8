import Foundation
import FoundationXML
import Overdrive
import Testing
import TestSupport

@Suite("Reports of runs", .timeLimit(.minutes(10)))
struct RunReportTests {
    /// "slow" delays "join" by 20 ms, and "fast" does not.
    private func diamond(onFailure: TaskGraph.FailurePolicy = .skipDependents) throws -> TaskGraph.Frozen {
        let graph = TaskGraph(name: "build", onFailure: onFailure)
        let first = graph.node("first") { 1 }
        let slow = graph.node("slow", after: first) { n async throws -> Int in
            try await AsyncTask.sleep(for: .milliseconds(20))
            return n
        }
        let fast = graph.subgraph("lib") { graph.node("fast \"<&", after: first) { $0 } }
        graph.node("join", after: slow, fast) { $0 + $1 }
        // With one worker "fast" ends before "slow" begins.
        return try graph.freeze(scheduler: Scheduler(workers: 1))
    }

    @Test("a recorded run has the times of each node, the critical path and the slack")
    func times() async throws {
        let (frozen, recorder) = (try diamond(), RunRecorder())
        _ = try await frozen.run()
        #expect(recorder.report.entries.isEmpty)
        for _ in 0..<2 {
            _ = try await frozen.run(recording: recorder)
            let report = recorder.report
            #expect(report.entries.map(\.name) == ["first", "slow", "lib/fast \"<&", "join"])
            #expect(report.entries.map(\.dependencies) == [[], [0], [0], [1, 2]])
            #expect(report.criticalPath.map(\.name) == ["first", "slow", "join"])
            for entry in report.entries {
                let (started, ended) = (try #require(entry.started), try #require(entry.ended))
                #expect(entry.outcome == .finished && entry.ready <= started && started <= ended && ended <= report.elapsed)
                #expect((entry.slack == .zero) == entry.isCritical)
            }
            #expect(report.entries[3].ready == report.entries[1].ended)
            #expect(report.entries[1].time >= .milliseconds(20) && report.elapsed >= report.entries[1].time)
            // The fast node could end when the slow one does.
            let slack = (report.entries[1].ended ?? .zero) - (report.entries[2].ended ?? .zero)
            #expect(report.entries[2].slack == slack)
        }
    }

    @Test("the parallelism over time adds up to the work")
    func parallelism() async throws {
        let recorder = RunRecorder()
        _ = try await diamond().run(recording: recorder)
        let report = recorder.report
        for slices in [1, 3, 50] {
            let levels = report.parallelism(slices: slices)
            let sum = levels.reduce(0, +) / Double(slices)
            #expect(levels.count == slices && abs(sum - report.averageParallelism) < 1e-6 && levels.allSatisfy { $0 > -1e-9 })
        }
        #expect(report.work == report.entries.reduce(.zero) { $0 + $1.time })
    }

    @Test("a run that fails leaves a report, in which skipped nodes have no times")
    func failure() async throws {
        let (graph, recorder) = (TaskGraph(), RunRecorder())
        let bad = graph.node("bad", retry: RetryPolicy(attempts: 2)) { () throws -> Int in throw Flaw() }
        graph.node("after", after: bad) { $0 }
        let frozen = try graph.freeze()
        await #expect(throws: TaskGraphError.self) { try await frozen.run(recording: recorder) }
        let report = recorder.report
        #expect(report.entries.map(\.outcome) == [.failed, .skipped])
        #expect(report.entries[0].started != nil && report.entries[1].started == nil && report.entries[1].slack == nil)
        #expect(report.table.contains("  after   skipped            -         -         -         -   bad\n"), "\(report.table)")
        #expect(report.timeline().contains(">skipped<"))
    }

    @Test("a table, JSON and drawings name the nodes, and mark the critical path")
    func forms() async throws {
        let recorder = RunRecorder()
        let frozen = try diamond()
        _ = try await frozen.run(recording: recorder)
        let report = recorder.report
        let table = report.table
        #expect(table.contains("* slow ") && table.contains("  lib/fast \"<& ") && table.contains("Critical path (*): first "))
        #expect(table.contains(" of work: parallelism ") && table.contains("Parallelism over time"))
        let json = try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any]
        let nodes = try #require(json?["nodes"] as? [[String: Any]])
        #expect(nodes.compactMap { $0["critical"] as? Bool } == [true, true, false, true])
        #expect(nodes[2]["name"] as? String == "lib/fast \"<&" && nodes[3]["dependencies"] as? [Int] == [1, 2])
        let dot = report.dot()
        #expect(dot.matches(of: /n\d -> n\d \[color=/).count == 2 && dot.contains("n0 -> n2;") && dot.contains("label=\"slow: "))
        let mermaid = report.mermaid()
        #expect(mermaid.matches(of: /\]:::critical\n/).count == 3 && mermaid.contains("linkStyle 0,2 stroke"))
        for picture in [report.svg(), report.timeline()] {
            #expect(picture.contains("lib/fast &quot;&lt;&amp;"))
            _ = try XMLDocument(data: Data(picture.utf8))
        }
        #expect(report.svg().matches(of: /<path [^>]*stroke="#d33"/).count == 2)
        #expect(!frozen.dot().contains("color") && !frozen.mermaid().contains("critical"))
    }

    @Test("a report of 20,000 nodes draws a few hundred boxes and bars")
    func large() throws {
        let (graph, recorder) = (TaskGraph(name: "large"), RunRecorder())
        var random = SplitMix(state: 7)
        var nodes: [TaskGraph.Node<Void>] = []
        for i in 0..<20_000 {
            nodes.append(graph.subgraph("part \(i % 20)") { graph.node {} })
            if i > 0 { graph.order(nodes[Int(random.next() % UInt64(i))], before: nodes[i]) }
        }
        let frozen = try graph.freeze()
        _ = try blocking { try frozen.run(recording: recorder) }
        let report = recorder.report
        #expect(report.svg().matches(of: /<rect x/).count <= 600)
        #expect(report.timeline().matches(of: /<rect x/).count <= 400)
        #expect(report.table.split(separator: "\n").count <= 410)
    }

    @Test("tasks and their dependencies are recorded like a graph")
    func tasks() async throws {
        let bad = Task<Int>.inline { throw Flaw() }
        let first = Task.async {
            while !bad.isFinished { await AsyncTask.yield() }
            try await AsyncTask.sleep(for: .milliseconds(5))
        }
        first.name = "first"
        let last = Task.inline { 1 }
        last.name = "last"
        last.add(dependency: first)
        last.add(dependency: bad)
        let recorder = RunRecorder(of: [last], name: "boot")
        #expect(recorder.report.entries.map(\.outcome) == [.unfinished, .unfinished, .unfinished])
        TaskQueue().add(task: last)
        _ = try await last.value
        let report = recorder.report
        #expect(report.name == "boot" && Set(report.entries.map(\.name)) == ["last", "first", "Task<Int>"])
        #expect(report.criticalPath.map(\.name) == ["first", "last"])
        #expect(report.entries.first { $0.name == "Task<Int>" }?.outcome == .failed)
        #expect(report.entries[0].outcome == .finished && Set(report.entries[0].dependencies) == [1, 2])
        #expect(report.elapsed >= .milliseconds(5))
    }
}
