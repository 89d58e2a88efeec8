import OverdriveCore
import Testing

@Suite("Parallel.join, invoke and scope", .timeLimit(.minutes(10)))
struct ParallelJoinTests {
    private static func fib(_ n: Int) -> Int {
        if n < 2 { return n }
        let (a, b) = Parallel.join { fib(n - 1) } _: { fib(n - 2) }
        return a + b
    }

    private static func throwingFib(_ n: Int) throws(Flaw) -> Int {
        if n < 2 { return n }
        let (a, b) = try Parallel.join { () throws(Flaw) in try throwingFib(n - 1) } _: { () throws(Flaw) in
            try throwingFib(n - 2)
        }
        return a + b
    }

    /// Throws at the leaf whose number is `bad`.
    private static func walk(_ range: Range<Int>, bad: Int) throws(Flaw) -> Int {
        if range.count == 1 {
            if range.lowerBound == bad { throw Flaw(number: bad) }
            return 1
        }
        let middle = range.lowerBound + range.count / 2
        let (a, b) = try Parallel.join { () throws(Flaw) in
            try walk(range.lowerBound..<middle, bad: bad)
        } _: { () throws(Flaw) in
            try walk(middle..<range.upperBound, bad: bad)
        }
        return a + b
    }

    @Test("nests and returns what both branches return", arguments: Caller.allCases)
    func nested(caller: Caller) async throws {
        #expect(try await caller.call { Self.fib(18) } == 2_584)
        #expect(try await caller.call { (try? Self.throwingFib(16)) ?? -1 } == 987)
    }

    @Test("rethrows an error from any depth, as the type it has", arguments: Caller.allCases)
    func errors(caller: Caller) async throws {
        for bad in [0, 1, 31, 32, 62, 63] {
            let problem = try await caller.call {
                thrown(Flaw.self) { () throws(Flaw) in _ = try Self.walk(0..<64, bad: bad) }
            }
            #expect(problem == Flaw(number: bad))
        }
        #expect(try await caller.call { try? Self.walk(0..<64, bad: 64) } == 64)
    }

    @Test("prefers the first branch's error, and waits for the second")
    func bothThrow() async throws {
        let scheduler = makeScheduler(workers: 2)
        let (started, ended) = (Counter(), Counter())
        let problem = try await TaskQueue(scheduler: scheduler).run {
            thrown(Flaw.self) { () throws(Flaw) in
                _ = try Parallel.join { () throws(Flaw) -> Int in
                    _ = eventually { started.count == 1 }
                    throw Flaw(number: 1)
                } _: { () throws(Flaw) -> Int in
                    started.add()
                    ended.add()
                    throw Flaw(number: 2)
                }
            }
        }
        #expect(problem == Flaw(number: 1))
        #expect(started.count == ended.count)
    }

    @Test("does not start the second branch after the first has thrown")
    func secondNotStarted() async throws {
        let ran = Counter()
        let problem = try await TaskQueue(scheduler: makeScheduler(workers: 1)).run {
            thrown(Flaw.self) { () throws(Flaw) in
                _ = try Parallel.join { () throws(Flaw) -> Int in throw Flaw(number: 1) } _: {
                    () throws(Flaw) -> Int in ran.add()
                }
            }
        }
        #expect(problem == Flaw(number: 1))
        #expect(ran.count == 0)
    }

    @Test("tells a branch that runs elsewhere that its sibling has thrown")
    func siblingThrew() async throws {
        let (started, told) = (Counter(), Counter())
        let problem = try await TaskQueue(scheduler: makeScheduler(workers: 2)).run {
            thrown(Flaw.self) { () throws(Flaw) in
                _ = try Parallel.join { () throws(Flaw) -> Int in
                    if !eventually({ started.count == 1 }) { return 0 }
                    throw Flaw(number: 1)
                } _: { () throws(Flaw) -> Int in
                    if Cancellation.isRequested { return 0 }
                    started.add()
                    if eventually({ Cancellation.isRequested }) { told.add() }
                    return 0
                }
            }
        }
        #expect(problem == Flaw(number: 1))
        #expect(told.count == 1)
    }

    @Test("releases results and captures once", arguments: Caller.allCases)
    func results(caller: Caller) async throws {
        let census = Census()
        for _ in 0..<50 {
            try await caller.call {
                let captured = census.newborn()
                let (a, b) = Parallel.join { (captured, census.newborn()) } _: { (captured, census.newborn()) }
                a.1.touch()
                b.1.touch()
            }
        }
        #expect(census.alive == 0)
    }

    @Test("a branch that may throw, and runs elsewhere, does not keep what it was forked in")
    func keepsNobody() {
        let (census, queue) = (Census(), TaskQueue(scheduler: makeScheduler(workers: 2)))
        do {
            let (tracked, meeting) = (census.newborn(), Meeting(of: 2))
            let item = WorkItem {
                tracked.touch()
                _ = try? Parallel.join { () throws in meeting.attend() } _: { () throws in meeting.attend() }
            }
            queue.async(execute: item)
            item.wait()
        }
        #expect(eventually { census.alive == 0 })
    }

    @Test("invoke runs each closure once", arguments: Caller.allCases)
    func invoke(caller: Caller) async throws {
        let counters = (0..<4).map { _ in Counter() }
        try await caller.call {
            Parallel().invoke { counters[0].add() } _: { counters[1].add() } _: { counters[2].add() }
            Parallel().invoke(count: 4) { i in counters[i].add() }
            Parallel().invoke(count: 0) { i in counters[i].add() }
        }
        let times = caller == .branches ? 2 : 1
        #expect(counters.map(\.count) == [2, 2, 2, 1].map { $0 * times })
    }

    private static func queens(_ n: Int, row: Int, columns: Int, left: Int, right: Int, _ found: Counter) {
        if row == n {
            found.add()
            return
        }
        Parallel.scope { scope in
            for column in 0..<n {
                let bit = 1 << column
                if (columns | left | right) & bit != 0 { continue }
                scope.fork {
                    queens(n, row: row + 1, columns: columns | bit, left: (left | bit) << 1, right: (right | bit) >> 1, found)
                }
            }
        }
    }

    @Test("scope waits for a dynamic number of children, which open scopes of their own", arguments: Caller.allCases)
    func scope(caller: Caller) async throws {
        let found = Counter()
        try await caller.call { Self.queens(7, row: 0, columns: 0, left: 0, right: 0, found) }
        #expect(found.count == (caller == .branches ? 80 : 40))
    }

    @Test("scope returns and throws what its body does, after its children", arguments: Caller.allCases, [0, 1, 2, 1_000])
    func scopeEnds(caller: Caller, count: Int) async throws {
        let (done, census) = (Counter(), Census())
        let (result, problem, atThrow) = try await caller.call { () -> (Int, Flaw?, Bool) in
            let result = Parallel.scope { scope in
                for _ in 0..<count {
                    let tracked = census.newborn()
                    scope.fork {
                        tracked.touch()
                        done.add()
                    }
                }
                return count
            }
            let before = Counter()
            do throws(Flaw) {
                try Parallel.scope { scope throws(Flaw) in
                    for _ in 0..<count { scope.fork { before.add() } }
                    throw Flaw(number: 3)
                }
                return (result, nil, false)
            } catch {
                return (result, error, before.count == count)
            }
        }
        #expect(result == count)
        #expect(problem == Flaw(number: 3))
        #expect(atThrow)
        #expect(done.count == count * (caller == .branches ? 2 : 1))
        #expect(census.alive == 0)
    }
}
