import OverdriveCore
import Testing

@Suite("Parallel with errors, tokens, progress and schedulers", .timeLimit(.minutes(10)))
struct ParallelOptionsTests {
    @Test("the first error ends a loop, and nothing runs when it is thrown", arguments: Caller.allCases)
    func errors(caller: Caller) async throws {
        for count in [1, 2, 64, 4_097, 100_000] {
            for bad in Set([0, count / 2, count - 1]) {
                let (problems, running) = try await caller.call { () -> ([Flaw?], Int) in
                    let crowd = Counter()
                    @Sendable func check(_ i: Int) throws(Flaw) {
                        crowd.add()
                        defer { crowd.add(-1) }
                        if i == bad { throw Flaw(number: bad) }
                    }
                    var problems: [Flaw?] = []
                    func note(_ body: () throws(Flaw) -> Void) { problems.append(thrown(Flaw.self, by: body)) }
                    note { () throws(Flaw) in
                        try Parallel.forEach(0..<count) { i throws(Flaw) in try check(i) }
                    }
                    note { () throws(Flaw) in
                        try Parallel().forEachChunk(0..<count) { part throws(Flaw) in
                            for i in part { try check(i) }
                        }
                    }
                    note { () throws(Flaw) in
                        _ = try Parallel.map(0..<count) { i throws(Flaw) -> String in
                            try check(i)
                            return String(i)
                        }
                    }
                    note { () throws(Flaw) in
                        _ = try Parallel().filter(0..<count) { i throws(Flaw) -> Bool in
                            try check(i)
                            return true
                        }
                    }
                    note { () throws(Flaw) in
                        _ = try Parallel.reduce(
                            0..<count, 0,
                            map: { i throws(Flaw) -> Int in
                                try check(i)
                                return i
                            }, combine: { (a: Int, b: Int) throws(Flaw) -> Int in a + b })
                    }
                    return (problems, crowd.count)
                }
                #expect(problems == Array(repeating: Flaw(number: bad), count: 5))
                #expect(running == 0 || caller == .branches)
            }
        }
    }

    @Test("throwing operations that do not throw do what the others do", arguments: Caller.allCases)
    func same(caller: Caller) async throws {
        for count in lengths {
            let numbers = scrambled(count, below: 1_000)
            let ok = try await caller.call { () -> Bool in
                do {
                    let strings = try Parallel.map(numbers) { number throws(Flaw) in String(number) }
                    let even = try Parallel().filter(numbers) { number throws(Flaw) in number % 2 == 0 }
                    let sum = try Parallel.reduce(
                        0..<count, 0, map: { i throws(Flaw) -> Int in numbers[i] },
                        combine: { (a: Int, b: Int) throws(Flaw) -> Int in a + b })
                    let total = Counter()
                    try Parallel.forEach(0..<count) { i throws(Flaw) in _ = total.add(numbers[i]) }
                    return strings == numbers.map { String($0) } && even == numbers.filter { $0 % 2 == 0 }
                        && sum == numbers.reduce(0, +) && total.count == sum
                } catch {
                    return false
                }
            }
            #expect(ok)
        }
    }

    @Test("results of a map that throws are released", arguments: Caller.allCases)
    func release(caller: Caller) async throws {
        let census = Census()
        for bad in [0, 500, 9_999] {
            try await caller.call {
                let objects = try? Parallel.map(0..<10_000) { i throws(Flaw) -> Tracked in
                    if i == bad { throw Flaw(number: i) }
                    return census.newborn()
                }
                if objects != nil { fatalError("the map went past its error") }
            }
        }
        #expect(census.alive == 0)
    }

    @Test("after an error on the only worker nothing starts")
    func nothingStarts() async throws {
        let ran = Counter()
        try await TaskQueue(scheduler: makeScheduler(workers: 1)).run {
            try? Parallel(grain: 1).forEachChunk(0..<1_000) { part throws(Flaw) in
                ran.add()
                throw Flaw(number: part.lowerBound)
            }
        }
        #expect(ran.count == 1)
    }

    @Test("parts that run are told that another has thrown")
    func told() async throws {
        let (waiting, told) = (Counter(), Counter())
        try await TaskQueue(scheduler: makeScheduler(workers: 2)).run {
            try? Parallel(grain: 1).forEach(0..<2) { i throws(Flaw) in
                waiting.add()
                if !eventually({ waiting.count == 2 }) { return }
                if i == 1 { throw Flaw(number: 1) }
                if eventually({ Cancellation.isRequested }) { told.add() }
            }
        }
        #expect(told.count == 1)
    }

    @Test("a token ends a loop with CancellationError", arguments: Caller.allCases)
    func token(caller: Caller) async throws {
        let (ended, ran) = try await caller.call { () -> (Bool, Int) in
            let (token, ran) = (CancellationToken(), Counter())
            do {
                try Parallel(token: token).forEach(0..<10_000_000) { i throws in
                    if ran.add() == 100 { token.cancel() }
                }
                return (false, ran.count)
            } catch {
                return (error is CancellationError && token.isCancelled, ran.count)
            }
        }
        #expect(ended)
        #expect(ran < 10_000_000)
        let before = try await caller.call { () -> Int in
            let (token, ran) = (CancellationToken(), Counter())
            token.cancel()
            try? Parallel(token: token).forEachChunk(0..<100) { _ throws in ran.add() }
            _ = try? Parallel(token: token).map(0..<100) { _ throws in ran.add() }
            _ = try? Parallel(token: token).filter(0..<100) { _ throws in ran.add() > 0 }
            _ = try? Parallel(token: token).reduce(0..<100, 0, map: { _ throws in ran.add() }, combine: { a, b throws in a + b })
            return ran.count
        }
        #expect(before == 0)
        let whole = try await caller.call { try? Parallel(token: CancellationToken()).map(0..<100) { i throws in i } }
        #expect(whole == Array(0..<100))
    }

    @Test("progress counts every iteration once", arguments: Caller.allCases)
    func progress(caller: Caller) async throws {
        for count in lengths {
            let counts = try await caller.call { () -> [Int] in
                let all = (0..<4).map { _ in Parallel.Progress() }
                Parallel(progress: all[0]).forEach(0..<count) { _ in }
                Parallel(progress: all[1]).forEachChunk(0..<count) { _ in }
                _ = Parallel(progress: all[2]).map(0..<count) { $0 }
                _ = Parallel(progress: all[3]).filter(0..<count) { _ in false }
                return all.map(\.completed)
            }
            #expect(counts == [count, count, count, count])
        }
    }

    @Test("operations stay on the scheduler they are given", arguments: Caller.allCases, [1, 3])
    func on(caller: Caller, workers: Int) async throws {
        let scheduler = makeScheduler(workers: workers)
        let numbers = scrambled(5_000)
        let fine = try await caller.call { () -> Bool in
            let here = threadIdentity()
            let strangers = Counter()
            @Sendable func look() {
                if !scheduler.isCurrent && threadIdentity() != here { strangers.add() }
            }
            Parallel(on: scheduler).forEach(0..<500) { _ in
                look()
                Parallel.forEach(0..<10) { _ in look() }
            }
            Parallel(on: scheduler).forEachChunk(0..<500) { _ in look() }
            let pair = Parallel(on: scheduler).join { look() } _: { look() }
            _ = pair
            Parallel(on: scheduler).invoke(count: 2) { _ in look() }
            Parallel(on: scheduler).scope { scope in scope.fork { look() } }
            let mapped = Parallel(on: scheduler).map(numbers) { number -> Int in
                look()
                return number / 2
            }
            let sum = Parallel(on: scheduler).reduce(numbers, 0) { $0 &+ $1 }
            let last = Parallel(on: scheduler).scan(numbers, 0) { $0 &+ $1 }.last
            var (sorted, stable) = (numbers, numbers)
            Parallel(on: scheduler).sort(&sorted)
            Parallel(on: scheduler).stableSort(&stable)
            return strangers.count == 0 && mapped == numbers.map { $0 / 2 } && sum == numbers.reduce(0, &+) && last == sum
                && sorted == numbers.sorted() && stable == sorted
                && Parallel(on: scheduler).min(numbers) == sorted.first && Parallel(on: scheduler).max(numbers) == sorted.last
        }
        #expect(fine)
    }

    @Test("children of a scope may throw", arguments: Caller.allCases, [0, 1, 2, 500])
    func scope(caller: Caller, count: Int) async throws {
        let (result, problem) = try await caller.call { () -> (Int?, Flaw?) in
            let done = Counter()
            let result = try? Parallel().scope(throwing: Flaw.self) { scope throws(Flaw) -> Int in
                for _ in 0..<count { scope.fork { () throws(Flaw) in done.add() } }
                return 7
            }
            if done.count != count { return (nil, nil) }
            do throws(Flaw) {
                try Parallel().scope(throwing: Flaw.self) { scope throws(Flaw) in
                    for _ in 0..<count { scope.fork { () throws(Flaw) in done.add() } }
                    scope.fork { () throws(Flaw) in throw Flaw(number: 5) }
                }
                return (result, nil)
            } catch {
                return (result, error)
            }
        }
        #expect(result == 7)
        #expect(problem == Flaw(number: 5))
    }

    @Test("throwing_scope_compiles_as_documented")
    func scopeAsDocumented() throws {
        let done = Counter()
        @Sendable func check(_ number: Int) throws(Flaw) {
            if number == 7 { throw Flaw(number: number) }
            done.add()
        }
        func checkAll(_ numbers: Range<Int>) throws(Flaw) {
            try Parallel().scope(throwing: Flaw.self) { scope throws(Flaw) in
                for number in numbers { scope.fork { () throws(Flaw) in try check(number) } }
            }
        }
        try checkAll(0..<7)
        #expect(done.count == 7)
        #expect(throws: Flaw(number: 7)) { try checkAll(7..<8) }
    }

    /// Once its children were joined when the scope was no longer the thread's work: it stood as the work of whatever
    /// was forked there later, although it was gone.
    @Test("nothing inherits a throwing scope that is over")
    func scopeIsOver() async throws {
        let asked = try await TaskQueue(scheduler: makeScheduler(workers: 2)).run { () -> Bool? in
            let (taken, told) = (Counter(), Counter())
            // What is forked above another fork inherits what the thread has noted by then.
            _ = Parallel.join {
                _ = try? Parallel().scope(throwing: Flaw.self) { scope throws(Flaw) in
                    for _ in 0..<10 { scope.fork {} }
                    throw Flaw(number: 1) // It says to all its children that they are not needed any more.
                }
                _ = Parallel.join { eventually { taken.count == 1 } } _: {
                    told.add(Cancellation.isRequested ? 1 : 0)
                    return taken.add()
                }
            } _: {
            }
            return told.count == 1
        }
        #expect(asked == false)
    }

    @Test("firstTouch visits each number once")
    func firstTouch() {
        let counters = (0..<5_000).map { _ in Counter() }
        Parallel(placement: .firstTouch).forEach(0..<5_000) { counters[$0].add() }
        #expect(counters.allSatisfy { $0.count == 1 })
        #expect(Parallel(placement: .firstTouch).map(0..<5_000) { $0 } == Array(0..<5_000))
    }
}
