import Foundation
import Overdrive
import Synchronization
import Testing
import TestSupport

@Suite("Task graphs", .timeLimit(.minutes(10)))
struct TaskGraphTests {
    @Test("a node receives the results of the nodes that it depends on")
    func results() async throws {
        let graph = TaskGraph()
        let two = graph.node("two") { 2 }
        let word = graph.node("word", after: two) { String(repeating: "a", count: $0) }
        let both = graph.node(after: two, word) { "\($0)\($1)" }
        let four = graph.node(after: two, word, both, two) { a, b, c, d in "\(a) \(b) \(c) \(d)" }
        let many = graph.node(after: (0..<5).map { i in graph.node { i * i } }) { $0.reduce(0, +) }
        let waited = graph.node(after: both) { text async throws -> Int in
            try await AsyncTask.sleep(for: .milliseconds(1))
            return text.count
        }
        let frozen = try graph.freeze()
        #expect(frozen.count == 11)
        for _ in 0..<3 {
            let results = try await frozen.run()
            #expect(results[four] == "2 aa 2aa 2" && results[many] == 30 && results[waited] == 3)
        }
    }

    @Test("a blocking run gives the same results, again and again")
    func blocking() throws {
        let graph = TaskGraph()
        let first = graph.node { 1 }
        var last = first
        for _ in 0..<1000 { last = graph.node(after: last, first) { $0 + $1 } }
        let frozen = try graph.freeze()
        for _ in 0..<20 { #expect(try frozen.run()[last] == 1001) }
    }

    @Test("100,000 successors of one node run once each, whatever the number of runs")
    func wideNode() throws {
        let graph = TaskGraph()
        let ran = Atomic(0)
        let first = graph.node { 1 }
        for _ in 0..<100_000 { graph.node(after: first) { ran.add($0, ordering: .relaxed) } }
        let frozen = try graph.freeze()
        for round in 1...3 {
            _ = try frozen.run()
            #expect(ran.load(ordering: .relaxed) == round * 100_000)
        }
    }

    @Test("a drawing has each node and each edge, and quotes names")
    func drawing() throws {
        let graph = TaskGraph(name: "small")
        let isReady = graph.node("ready?") { true }
        let first = graph.node("a \"b\"", when: isReady.isTrue) { 1 }
        let second = graph.node("c<d", after: first) { $0 }
        graph.order(isReady, before: second)
        let frozen = try graph.freeze()
        #expect(frozen.dot() == """
            digraph "small" {
                rankdir=LR;
                node [shape=box];
                n0 [label="ready?"];
                n1 [label="a \\"b\\""];
                n2 [label="c<d"];
                n0 -> n1 [label=true];
                n0 -> n2 [style=dashed];
                n1 -> n2;
            }

            """)
        #expect(frozen.mermaid().contains("n0 -->|true| n1\n    n0 -.-> n2\n    n1 --> n2\n"))
        let picture = frozen.svg()
        #expect(picture.contains("c&lt;d") && picture.matches(of: /<rect x/).count == 3 && picture.matches(of: /<path/).count == 3)
    }

    @Test("names of nodes cannot break a drawing")
    func names() throws {
        let graph = TaskGraph(name: "names")
        _ = graph.node("\"\u{301}<\u{338}\u{1B}\r\n#'") {}
        let frozen = try graph.freeze()
        #expect(frozen.dot().contains("label=\"\\\"\u{301}<\u{338}  \\n#'\""))
        #expect(frozen.svg().contains("&quot;\u{301}&lt;\u{338}   #&apos;"))
        #expect(frozen.mermaid().contains("&quot;\u{301}&lt;\u{338}   #35;&apos;"))
    }

    @Test("a picture of 20,000 nodes shows several nodes in each box")
    func largeDrawing() throws {
        let graph = TaskGraph()
        var random = SplitMix(state: 7)
        var nodes: [TaskGraph.Node<Void>] = []
        for i in 0..<20_000 {
            nodes.append(graph.subgraph("part \(i % 20)") { graph.node {} })
            if i > 0 { graph.order(nodes[Int(random.next() % UInt64(i))], before: nodes[i]) }
        }
        let boxes = try graph.freeze().svg().matches(of: /<rect x.*<title>.* \((\d+)\)<\/title>/)
        #expect(boxes.count <= 600 && boxes.reduce(0) { $0 + (Int($1.1) ?? 0) } > 19_000)
    }

    @Test("a circle is named with its nodes in order")
    func circle() {
        let graph = TaskGraph()
        let a = graph.node("a") {}
        let b = graph.subgraph("lib") { graph.node("b", after: a) { _ in } }
        let c = graph.node("c", after: b) { _ in }
        graph.node("outside", after: c) { _ in }
        graph.order(c, before: a)
        let error = #expect(throws: TaskGraphError.self) { try graph.freeze() }
        #expect("\(error.map { "\($0)" } ?? "")".contains("lib/b"))
        guard case .circle(let names) = error else { return #expect(Bool(false), "no circle") }
        #expect(names.count == 3 && Set(names) == ["a", "lib/b", "c"])
        // Each name is followed by that of its dependent.
        let after = ["a": "lib/b", "lib/b": "c", "c": "a"]
        for (i, name) in names.enumerated() { #expect(names[(i + 1) % 3] == after[name]) }
    }

    @Test("a failure skips dependents, and others run", arguments: [TaskGraph.FailurePolicy.skipDependents, .goOn])
    func failures(policy: TaskGraph.FailurePolicy) throws {
        let (ran, graph) = (Counter(), TaskGraph(onFailure: policy))
        let bad = graph.node("bad") { () throws -> Int in throw Flaw(number: 7) }
        let dependent = graph.node(after: bad) { ran.add(); return $0 }
        let tolerant = graph.node(after: bad.optional) { $0 ?? -1 }
        let behind = graph.node { 1 }
        graph.order(bad, before: behind)
        let other = graph.node { 5 }
        let frozen = try graph.freeze()
        for _ in 0..<3 {
            if policy == .goOn {
                let results = try frozen.run()
                #expect(results[tolerant] == -1 && results[behind] == 1 && results[other] == 5)
                guard case .failed(let error) = results.outcome(of: bad) else { return #expect(Bool(false)) }
                #expect(error as? Flaw == Flaw(number: 7))
                guard case .skipped = results.outcome(of: dependent) else { return #expect(Bool(false)) }
            } else {
                let error = #expect(throws: TaskGraphError.self) { try frozen.run() }
                guard case .failed(let node, let cause, let others) = error else { return #expect(Bool(false)) }
                #expect(node == "bad" && cause as? Flaw == Flaw(number: 7) && others == 0)
            }
        }
        #expect(ran.count == 0)
    }

    @Test("a branch that is not taken gives nil to optional dependents")
    func branches() throws {
        let graph = TaskGraph()
        let flip = Atomic(false)
        let isDirty = graph.node { flip.load(ordering: .relaxed) }
        let rebuilt = graph.node(when: isDirty.isTrue) { "new" }
        let kept = graph.node(when: isDirty.isFalse) { "old" }
        let dependent = graph.node(after: rebuilt) { $0 + "er" }
        let result = graph.node(after: rebuilt.optional, kept.optional) { $0 ?? $1 ?? "none" }
        let frozen = try graph.freeze()
        #expect(try frozen.run()[result] == "old")
        guard case .notTaken = try frozen.run().outcome(of: dependent) else { return #expect(Bool(false)) }
        flip.store(true, ordering: .relaxed)
        let results = try frozen.run()
        #expect(results[result] == "new" && results[dependent] == "newer")
    }

    @Test("a failed node is tried again as its policy says, in each run")
    func retries() async throws {
        let graph = TaskGraph()
        let (attempts, slow) = (Counter(), Counter())
        let node = graph.node(retry: RetryPolicy(attempts: 4)) { () throws -> Int in
            guard attempts.add() % 4 == 0 else { throw Flaw() }
            return attempts.count
        }
        let later = graph.node(
            after: node, retry: RetryPolicy(attempts: 2, delay: .fixed(.milliseconds(2)))
        ) { n async throws -> Int in
            guard slow.add() % 2 == 0 else { throw Flaw() }
            return n
        }
        let frozen = try graph.freeze()
        #expect(try await frozen.run()[later] == 4)
        #expect(try await frozen.run()[later] == 8)
        #expect(attempts.count == 8 && slow.count == 4)
    }

    @Test("a cancelled run starts no further node and says how many did not run")
    func cancelling() async throws {
        let graph = TaskGraph()
        let token = CancellationToken()
        let sawIt = Counter()
        var last = graph.node {
            token.cancel()
        }
        last = graph.node(after: last) { _ in sawIt.add() }
        for _ in 0..<9 { last = graph.node(after: last) { _ in sawIt.add() } }
        let frozen = try graph.freeze()
        let error = #expect(throws: TaskGraphError.self) { try frozen.run(token: token) }
        guard case .cancelled(let unfinished) = error else { return #expect(Bool(false)) }
        #expect(unfinished == 10 && sawIt.count == 0)
        // The task's own cancellation; and the same graph runs whole afterwards.
        let task = AsyncTask { try await frozen.run() }
        task.cancel()
        _ = await task.result
        _ = try await frozen.run()
        #expect(sawIt.count >= 10)
    }

    @Test("a node that runs sees that its run's token is cancelled")
    func tokenWhileRunning() async throws {
        let (graph, token, begun) = (TaskGraph(), CancellationToken(), WaitGroup())
        begun.enter()
        graph.node {
            begun.leave()
            while !Cancellation.isRequested {}
        }
        let frozen = try graph.freeze()
        async let run = Result { try await frozen.run(token: token) }
        await begun.wait()
        token.cancel()
        _ = try await run.get()  // the node returned, so nothing is missing
    }

    @Test("a cancelled run cancels the tasks of its asynchronous nodes")
    func cancelledTask() async throws {
        let (graph, begun) = (TaskGraph(), WaitGroup())
        begun.enter()
        graph.node { () async throws -> Void in
            begun.leave()
            try await AsyncTask.sleep(for: .seconds(3600))
        }
        let frozen = try graph.freeze()
        let task = AsyncTask { try await frozen.run() }
        await begun.wait()
        task.cancel()
        await #expect(throws: TaskGraphError.self) { try await task.value }
    }

    @Test("a cancelled token reaches the tasks of asynchronous nodes and waits for a retry at once", arguments: [false, true])
    func cancelledTokenWhileWaiting(isRetry: Bool) async throws {
        let (graph, begun) = (TaskGraph(), WaitGroup())
        let number = graph.input("number", of: Int.self)
        let node = if isRetry {
            graph.node(after: number, retry: RetryPolicy(attempts: 2, delay: .fixed(.seconds(3600)))) { n throws -> Int in
                if n == 0 { return n }
                begun.leave()
                throw Flaw()
            }
        } else {
            graph.node(after: number) { n async throws -> Int in
                if n == 0 { return n }
                begun.leave()
                try await AsyncTask.sleep(for: .seconds(3600))
                return n
            }
        }
        let frozen = try graph.freeze()
        for _ in 0..<20 {
            let token = CancellationToken()
            begun.enter()
            async let run = Result { try await frozen.run(with: [number.given(1)], token: token) }
            await begun.wait()
            token.cancel()
            guard case .failure = await run else { return #expect(Bool(false), "the run did not end") }
            // The next run has nothing of it, and a token that is cancelled after a run cancels no other one.
            let late = CancellationToken()
            #expect(try await frozen.run(with: [number.given(0)], token: late)[node] == 0)
            async let next = frozen.run(with: [number.given(0)])
            late.cancel()
            #expect(try await next[node] == 0)
        }
    }

    @Test("a token that was cancelled before a run starts none of its nodes")
    func cancelledTokenBefore() async throws {
        let (graph, token, ran) = (TaskGraph(), CancellationToken(), Counter())
        for _ in 0..<3 { graph.node { () async throws -> Void in ran.add() } }
        token.cancel()
        let frozen = try graph.freeze()
        let error = await #expect(throws: TaskGraphError.self) { try await frozen.run(token: token) }
        guard case .cancelled(3) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(ran.count == 0)
    }

    @Test("a cancelled run does not wait for a retry, and the next run has all its attempts")
    func cancelledRetry() async throws {
        let (graph, attempts, failed) = (TaskGraph(), Counter(), WaitGroup())
        let isMended = Atomic(false)
        failed.enter()
        let node = graph.node(retry: RetryPolicy(attempts: 2, delay: .fixed(.seconds(3600)))) { () throws -> Int in
            if attempts.add() == 1 { failed.leave() }
            guard isMended.load(ordering: .relaxed) else { throw Flaw() }
            return attempts.count
        }
        let frozen = try graph.freeze()
        let task = AsyncTask { try await frozen.run() }
        await failed.wait()
        task.cancel()
        await #expect(throws: TaskGraphError.self) { try await task.value }
        #expect(attempts.count == 1)
        isMended.store(true, ordering: .relaxed)
        #expect(try await frozen.run()[node] == 2)
    }

    @Test("a long chain of asynchronous nodes that do not run ends on a short stack")
    func longSkippedChain() async throws {
        let graph = TaskGraph()
        var last = graph.node("bad") { () async throws -> Int in throw Flaw() }
        for _ in 0..<20_000 { last = graph.node(after: last) { n async throws -> Int in n } }
        let frozen = try graph.freeze()
        let error = await #expect(throws: TaskGraphError.self) { try await frozen.run() }
        guard case .failed("bad", _, 0) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test("nodes on a limited queue keep its limit, and node after node on a serial queue is alone")
    func limits() async throws {
        let graph = TaskGraph()
        let (one, two) = (TaskQueue.serial(), TaskQueue(maxConcurrentTaskCount: 2))
        let (first, second) = (Crowd(), Crowd())
        for _ in 0..<50 {
            let a = graph.node(on: one) { first.visit { for _ in 0..<200 { _ = Counter() } } }
            graph.node(after: a, on: two) { _ in second.visit { for _ in 0..<200 { _ = Counter() } } }
        }
        _ = try await graph.freeze().run()
        #expect(first.most == 1 && (1...2).contains(second.most))
    }

    @Test("runs of one graph at the same time have their own results, which go with them")
    func concurrentRuns() async throws {
        let alive = Counter()
        let graph = TaskGraph()
        var level = (0..<8).map { _ in graph.node { Token(alive) } }
        for _ in 0..<8 { level = level.indices.map { i in graph.node(after: level[i], level[(i + 1) % 8]) { _, _ in Token(alive) } } }
        let last = level
        let frozen = try graph.freeze()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    let results = try await frozen.run()
                    return Set(last.map { ObjectIdentifier(results[$0]) }).count == last.count
                }
            }
            for try await areDistinct in group { #expect(areDistinct) }
        }
        do {
            let (one, other) = (try await frozen.run(), try await frozen.run())
            #expect(one[last[0]] !== other[last[0]])
        }
        #expect(alive.count == 0)
    }

    @Test("each run has the values that it is given, and gives them up with its results")
    func inputs() async throws {
        let alive = Counter()
        let graph = TaskGraph()
        let number = graph.input("number", of: Int.self)
        let step = graph.input("step", default: 1)
        let isLong = graph.input("is long", default: false)
        let owner = graph.input("owner", of: Token?.self)
        let sum = graph.node(after: number, step) { $0 + $1 }
        let long = graph.node(after: sum, [number, step], when: isLong.node.isTrue) { "\($0) of \($1)" }
        let short = graph.node(after: sum, when: isLong.node.isFalse) { "\($0)" }
        let text = graph.node(after: long.optional, short.optional, owner) { long, short, _ in long ?? short }
        let free = graph.node { 1 }
        let frozen = try graph.freeze()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for i in 0..<200 {
                group.addTask {
                    var given = [number.given(i), owner.given(Token(alive))]
                    if i % 2 == 1 { given.append(step.given(i)) }
                    if i % 3 == 0 { given.insert(isLong.given(true), at: 1) }
                    let results = try await frozen.run(with: given)
                    let step = i % 2 == 1 ? i : 1
                    return results[text] == (i % 3 == 0 ? "\(i + step) of [\(i), \(step)]" : "\(i + step)")
                        && results[number.node] == i && results[free] == 1
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(alive.count == 0)
    }

    @Test("a blocking run takes inputs, also one that waits for a node")
    func blockingInputs() throws {
        let (graph, ran) = (TaskGraph(), Counter())
        let number = graph.input("number", of: Int.self)
        let late = graph.input("late", default: 5)
        graph.order(graph.node { ran.add() }, before: late.node)
        let product = graph.node(after: number, late) { $0 * $1 + ran.count }
        let frozen = try graph.freeze()
        for i in 1...100 { #expect(try frozen.run(with: [number.given(i)])[product] == i * 5 + i) }
    }

    @Test("a cancelled run skips the dependents of its inputs")
    func cancelledInputs() throws {
        let (graph, token, ran) = (TaskGraph(), CancellationToken(), Counter())
        let number = graph.input("number", of: Int.self)
        graph.node(after: number) { _ in ran.add() }
        token.cancel()
        let frozen = try graph.freeze()
        let error = #expect(throws: TaskGraphError.self) { try frozen.run(with: [number.given(1)], token: token) }
        guard case .cancelled(2) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(ran.count == 0)
    }

    @Test("a run whose scheduler is shut down ends and says so")
    func shutDown() async throws {
        let scheduler = try Scheduler(workers: 1)
        let graph = TaskGraph()
        let (begun, gate) = (WaitGroup(), WaitGroup())
        begun.enter()
        gate.enter()
        var last = graph.node { begun.leave(); gate.wait() }
        for _ in 0..<200 { last = graph.node(after: last) { _ in } }
        let frozen = try graph.freeze(scheduler: scheduler)
        async let outcome = Result { try await frozen.run() }
        await begun.wait()
        async let report: ShutdownReport = scheduler.shutdown(timeout: .zero)
        gate.leave()
        _ = await report
        if case .failure(let error) = await outcome {
            guard case .cancelled = error as? TaskGraphError else { return #expect(Bool(false), "\(error)") }
        }
        let again = await Result { try await frozen.run() }
        guard case .failure(let error) = again, case .cancelled(201) = error as? TaskGraphError else {
            return #expect(Bool(false), "\(again)")
        }
    }

    /// Random graphs of one seed: RANDOM_GRAPHS is their number over all 20.
    private static let graphsOfASeed: UInt64 = {
        let asked = ProcessInfo.processInfo.environment["RANDOM_GRAPHS"].flatMap { UInt64($0) }
        return max(1, (asked ?? 600) / 20)
    }()

    @Test("random graphs end as a sequential oracle says", arguments: 0..<20)
    func random(seed: UInt64) async throws {
        let count = TaskGraphTests.graphsOfASeed
        for i in 0..<count { try await RandomGraph(seed: seed &* count &+ i).check() }
    }
}

/// Counts how many of its kind are alive.
private final class Token: Sendable {
    let alive: Counter
    init(_ alive: Counter) { self.alive = alive; alive.add() }
    deinit { alive.add(-1) }
}

extension Result where Failure == any Error {
    /// Catches what an asynchronous body throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// A graph by seed: nodes that add what they receive, fail at first or for good, exceed their limits, spawn nodes, stand on
/// branches, and order each other.
private struct RandomGraph {
    enum Expected: Equatable { case value(Int), failed, skipped, notTaken }

    private let policy: TaskGraph.FailurePolicy
    private let graph: TaskGraph
    private var nodes: [TaskGraph.Node<Int>] = []
    private var flags: [(node: TaskGraph.Node<Bool>, index: Int)] = []
    private var expected: [Expected] = []
    private let seed: UInt64
    private let runs: [Counter]
    /// How many spawned nodes of each node have run, and the number that an attempt spawns.
    private let spawned: [Counter]
    private var spawns: [Int] = []
    /// The number of each node in its graph.
    private var numbers: [Int] = []
    private let start: TaskGraph.InputNode<Int>
    private var attemptsNeeded: [Int] = []
    /// More than 0: several runs are under way, whose attempts the counters cannot tell apart. Each first attempt passes.
    private let isCrowded = Counter()

    init(seed: UInt64) {
        self.seed = seed
        var random = SplitMix(state: seed)
        let count = Int.random(in: 1...40, using: &random)
        let policy = [TaskGraph.FailurePolicy.skipDependents, .goOn].randomElement(using: &random)!
        self.policy = policy
        graph = TaskGraph(onFailure: policy)
        let start = graph.input("start", of: Int.self)
        self.start = start
        let runs = (0..<count).map { _ in Counter() }
        self.runs = runs
        let spawned = (0..<count).map { _ in Counter() }
        self.spawned = spawned
        let isCrowded = isCrowded
        let serial = TaskQueue.serial()
        for i in 0..<count {
            let before = nodes
            func pick() -> Int? { before.isEmpty ? nil : Int.random(in: before.indices, using: &random) }
            let isBad = Int.random(in: 0..<12, using: &random) == 0
            let failsFirst = Int.random(in: 0..<6, using: &random) == 0 ? 1 : 0
            let kind = Int.random(in: 0..<6, using: &random)
            // A bad node may fail by its limit: in a run that waits for its closure, or that leaves it behind without a retry.
            let limit = isBad && kind != 2 ? Int.random(in: 0..<6, using: &random) : 2
            attemptsNeeded.append(isBad ? limit == 0 ? 1 : 2 : failsFirst + 1)
            let body: @Sendable (Int) throws -> Int = { sum in
                let attempt = runs[i].add()
                if limit < 2 {
                    while !Cancellation.isRequested {}
                    throw CancellationError()
                }
                if isBad || (failsFirst == 1 && attempt % 2 == 1 && isCrowded.count == 0) { throw Flaw(number: i) }
                return sum &* 3 &+ i
            }
            let retry = RetryPolicy(attempts: 2)
            let queue = Int.random(in: 0..<8, using: &random) == 0 ? serial : nil
            let flag = flags.isEmpty || Int.random(in: 0..<4, using: &random) != 0 ? nil : flags.randomElement(using: &random)
            let wanted = Bool.random(using: &random)
            let condition = flag.map { wanted ? $0.node.isTrue : $0.node.isFalse }
            let (a, b, order) = (pick(), pick(), pick())
            let node: TaskGraph.Node<Int>
            var inputs: [(index: Int, isOptional: Bool)] = []
            var (startsHere, children) = (false, 0)
            if let a, let b, kind == 0 {
                node = graph.node(after: before[a], before[b], when: condition, on: queue, retry: retry) { try body($0 &+ $1) }
                inputs = [(a, false), (b, false)]
            } else if let a, let b, kind == 1 {
                node = graph.node(after: before[a].optional, before[b], when: condition, on: queue, retry: retry) {
                    try body(($0 ?? 1000) &+ $1)
                }
                inputs = [(a, true), (b, false)]
            } else if let a, let b, kind == 2 {
                node = graph.node(after: [before[a], before[b]], when: condition, retry: retry) { sums async throws -> Int in
                    try body(sums[0] &+ sums[1])
                }
                inputs = [(a, false), (b, false)]
            } else if let a, kind == 3 {
                node = graph.node(after: before[a], when: condition, on: queue, retry: retry) { try body($0) }
                inputs = [(a, false)]
            } else if let a, kind == 4 {
                children = Int.random(in: 0..<4, using: &random)
                node = graph.node(after: before[a], graph.context, when: condition, on: queue, retry: retry) { [children] sum, context in
                    for j in 0..<children {
                        if j == 1 {
                            context.spawn { () async throws -> Void in spawned[i].add() }
                        } else {
                            context.spawn { context.spawn { spawned[i].add() } }
                        }
                    }
                    return try body(sum)
                }
                inputs = [(a, false)]
            } else {
                node = graph.node(after: start, when: condition, on: queue, retry: retry) { try body($0) }
                startsHere = true
            }
            var ordered: [Int] = []
            if let order, kind != 5 {
                graph.order(before[order], before: node)
                ordered = [order]
            }
            nodes.append(node)
            numbers.append(graph.count - 1)
            // An asynchronous closure that spins would keep its worker: it has no limit.
            spawns.append(limit < 2 ? 0 : children)
            if limit < 2 {
                graph.limit(node, to: .microseconds(50), waits: limit == 1)
            } else if Int.random(in: 0..<6, using: &random) == 0 {
                graph.limit(node, to: .seconds(3600), waits: children == 1)
            }
            // The oracle, in the order of the nodes, which is one of the orders that the edges allow.
            var end: Expected?
            let earlier = expected
            func doom(_ index: Int, isOptional: Bool) {
                switch earlier[index] {
                case .value: break
                case .notTaken: if !isOptional && end != .skipped { end = .notTaken }
                case .failed, .skipped: if !isOptional || policy != .goOn { end = .skipped }
                }
            }
            inputs.forEach { doom($0.index, isOptional: $0.isOptional) }
            ordered.forEach { doom($0, isOptional: true) }
            if let flag {
                doom(flag.index, isOptional: false)
                if end == nil, case .value(let value) = expected[flag.index], (value % 2 == 0) != wanted { end = .notTaken }
                if case .value(let value) = expected[flag.index], (value % 2 == 0) != wanted, end != .skipped { end = .notTaken }
            }
            let sum = inputs.reduce(startsHere ? Self.startValue(seed) : 0) { sum, input in
                if case .value(let value) = expected[input.index] { return sum &+ value }
                return sum &+ 1000
            }
            expected.append(end ?? (isBad ? .failed : .value(sum &* 3 &+ i)))
            if Int.random(in: 0..<5, using: &random) == 0 {
                flags.append((graph.node(after: node) { $0 % 2 == 0 }, i))
            }
        }
    }

    /// The input's value. It differs from graph to graph.
    private static func startValue(_ seed: UInt64) -> Int { Int(seed % 1000) }

    func check() async throws {
        let frozen = try graph.freeze()
        let checkRun = runCheck()
        for round in 1...3 {
            let recorder = round == 2 ? RunRecorder() : nil
            await checkRun(frozen, nil, recorder)
            for (i, counter) in runs.enumerated() {
                switch expected[i] {
                case .value, .failed:
                    // A run that leaves a closure behind may end before the closure has counted itself.
                    #expect(eventually { counter.count == round * attemptsNeeded[i] }, "seed \(seed), node \(i)")
                default: #expect(counter.count == 0, "seed \(seed), node \(i)")
                }
                #expect(spawned[i].count == counter.count * spawns[i] || spawns[i] == 0, "seed \(seed), node \(i)")
            }
            if let recorder { check(recorder.report, ofGraph: frozen.count) }
        }
        isCrowded.add()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { await checkRun(frozen, nil, nil) } }
            let token = CancellationToken()
            group.addTask { await checkRun(frozen, token, nil) }
            group.addTask { token.cancel() }
        }
    }

    /// A report whose outcomes are the oracle's, and whose times are in the order of the edges.
    private func check(_ report: RunReport, ofGraph graph: Int) {
        let outcomes = expected.map { expected -> RunReport.Outcome in
            switch expected {
            case .value: .finished
            case .failed: .failed
            case .skipped: .skipped
            case .notTaken: .notTaken
            }
        }
        for (number, outcome) in zip(numbers, outcomes) {
            let entry = report.entries[number]
            #expect(entry.outcome == outcome && (entry.started != nil) == [.finished, .failed].contains(outcome), "seed \(seed)")
            // The nodes that a dependency spawned end before this one starts, too.
            if let started = entry.started {
                for dependency in entry.dependencies {
                    #expect(report.entries[dependency].ended ?? .zero <= started, "seed \(seed), node \(number)")
                }
            }
        }
        // A spawned node may come long after the closure of its node has returned. That closure, and all before it, have slack.
        guard report.entries.count == graph else { return }
        for (number, entry) in report.entries.enumerated() where entry.isCritical {
            #expect(entry.slack == .zero, "seed \(seed), entry \(number)")
        }
    }

    /// A run whose nodes end as the oracle says, or which the token has cancelled.
    private func runCheck() -> @Sendable (TaskGraph.Frozen, CancellationToken?, RunRecorder?) async -> Void {
        let (nodes, start, expected, policy, seed) = (nodes, start, expected, policy, seed)
        let isClean = !expected.contains(.failed)
        return { frozen, token, recorder in
            do {
                let given = [start.given(Self.startValue(seed))]
                let results =
                    if let recorder {
                        try await frozen.run(recording: recorder, with: given, token: token)
                    } else {
                        try await frozen.run(with: given, token: token)
                    }
                #expect(isClean || policy == .goOn, "seed \(seed)")
                for (node, expected) in zip(nodes, expected) {
                    switch results.outcome(of: node) {
                    case .value(let value): #expect(expected == .value(value), "seed \(seed)")
                    case .failed(let error): #expect(expected == .failed, "seed \(seed): \(error)")
                    case .skipped: #expect(expected == .skipped, "seed \(seed)")
                    case .notTaken: #expect(expected == .notTaken, "seed \(seed)")
                    }
                }
            } catch {
                if case TaskGraphError.cancelled = error {
                    #expect(token != nil, "seed \(seed): \(error)")
                } else {
                    #expect(!isClean && policy == .skipDependents, "seed \(seed): \(error)")
                }
            }
        }
    }
}
