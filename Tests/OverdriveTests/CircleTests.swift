import TestSupport
import Testing

@testable import Overdrive

/// Edges between tasks in any order, by one thread and by several: each circle is found, and no other.
@Suite("Circles of tasks")
struct CircleTests {
    /// Whether the edges lead from one node to another.
    private static func leads(_ edges: [[Int]], from start: Int, to end: Int) -> Bool {
        var seen: Set = [start]
        var pending = [start]
        while let node = pending.popLast() {
            if node == end { return true }
            for next in edges[node] where seen.insert(next).inserted { pending.append(next) }
        }
        return false
    }

    @Test("Random edges close a circle when a plain search finds one, after removals and ends too", arguments: 1...20)
    func randomEdges(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        let count = 4 + seed * 4
        let tasks = (0..<count).map { _ in Task.inline {} }
        var edges = [[Int]](repeating: [], count: count)
        for _ in 0..<count * 12 {
            let (a, b) = (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))
            if Int.random(in: 0..<40, using: &random) == 0 {
                tasks[b].cancel()
                edges[b] = []
            }
            if let old = edges[a].randomElement(using: &random), Int.random(in: 0..<3, using: &random) == 0 {
                #expect(tasks[a].remove(dependency: tasks[old]))
                edges[a].removeAll { $0 == old }
            }
            if a == b || edges[a].contains(b) || tasks[a].isFinished { continue }
            var found = false
            let counts = tasks[a].add(dependency: tasks[b], requiring: .finish) { _ in found = true }
            #expect(counts)
            #expect(found == CircleTests.leads(edges, from: b, to: a))
            if found { tasks[a].remove(dependency: tasks[b]) } else { edges[a].append(b) }
        }
    }

    @Test("Of threads that close a circle at once one finds it, and an open chain has none")
    func concurrentAdders() async {
        for round in 0..<300 {
            let isCircle = round % 2 == 0
            let length = 2 + round % 5
            let tasks = (0..<length).map { _ in Task.inline {} }
            let (arrived, found) = (Counter(), Counter())
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<(isCircle ? length : length - 1) {
                    group.addTask {
                        arrived.add()
                        for _ in 0..<1000 where arrived.count < 2 {}
                        _ = tasks[index].add(dependency: tasks[(index + 1) % length], requiring: .finish) { _ in found.add() }
                    }
                }
            }
            #expect((found.count > 0) == isCircle)
            for index in tasks.indices { tasks[index].remove(dependency: tasks[(index + 1) % length]) }
        }
    }

    @Test("An edge of a large graph in random order costs microseconds")
    func largeGraph() {
        var random = SplitMix(state: 7)
        let count = 20_000
        let tasks = (0..<count).map { _ in Task.inline {} }
        let rank = (0..<count).shuffled(using: &random)
        let elapsed = ContinuousClock().measure {
            for _ in 0..<2 * count {
                let (a, b) = (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))
                if a != b { tasks[rank[a] > rank[b] ? a : b].add(dependency: tasks[rank[a] > rank[b] ? b : a]) }
            }
        }
        // A search of all ancestors takes more than half a minute.
        #expect(elapsed < .seconds(8))
    }
}
