import OverdriveCore
import Testing

@Suite("Parallel.join and invoke of a number of branches", .timeLimit(.minutes(10)))
struct ParallelBranchesTests {
    /// More than a fork's slot has room for.
    private struct Wide: Sendable, Equatable {
        var text = ""
        var numbers: [Int] = []

        static func both(_ left: Wide, _ right: Wide) -> Wide {
            Wide(text: left.text + right.text, numbers: left.numbers + right.numbers)
        }
    }

    private static func size(_ depth: Int, _ children: Int) -> Int {
        depth == 0 ? 1 : Parallel.join(count: children, 1, +) { _ in size(depth - 1, children) }
    }

    @Test("nests and combines", arguments: Caller.allCases)
    func nested(caller: Caller) async throws {
        #expect(try await caller.call { Self.size(6, 4) } == 5_461)
        #expect(try await caller.call { Self.size(10, 1) } == 11)
    }

    @Test("combines in the numbers' order", arguments: [0, 1, 2, 3, 10, 1_023, 1_024, 1_025, 3_000])
    func order(count: Int) async throws {
        let scheduler = makeScheduler(workers: 4)
        let queue = TaskQueue(scheduler: scheduler)
        // Said in pieces and with types: in one expression they took the compiler a sixth of the module's time.
        let words = try await queue.run {
            Parallel.join(count: count, "end", { (left: String, right: String) in left + " " + right }) { "\($0)" }
        }
        let numbers = try await queue.run { Parallel.join(count: count, [Int](), { $0 + $1 }) { [$0] } }
        let wide = try await queue.run { Parallel.join(count: count, Wide(), Wide.both) { Wide(text: "\($0)", numbers: [$0]) } }
        let expected: [String] = (0..<count).map { "\($0)" }
        #expect(words == (expected + ["end"]).joined(separator: " "))
        #expect(numbers == Array(0..<count))
        #expect(wide == Wide(text: expected.joined(), numbers: Array(0..<count)))
    }

    /// Each branch waits until all have begun: as many threads run them, and all results but one come from others.
    @Test("brings the results of branches that others took", arguments: [2, 4])
    func taken(count: Int) async throws {
        let census = Census()
        let scheduler = makeScheduler(workers: count)
        for _ in 0..<20 {
            let (begun, begunWide) = (Counter(), Counter())
            let correct = try await TaskQueue(scheduler: scheduler).run {
                let all = Parallel.join(count: count, [(Int, Tracked)](), { $0 + $1 }) { number in
                    begun.add()
                    _ = eventually { begun.count == count }
                    return [(number, census.newborn())]
                }
                for one in all { one.1.touch() }
                let wide = Parallel.join(count: count, Wide(), Wide.both) {
                    begunWide.add()
                    _ = eventually { begunWide.count == count }
                    return Wide(text: "\($0)", numbers: [$0])
                }
                return all.map(\.0) == Array(0..<count) && wide.numbers == Array(0..<count)
            }
            #expect(correct)
        }
        #expect(census.alive == 0)
        #expect(scheduler.metrics.stolenForks == 40 * (count - 1))
    }

    @Test("invoke calls each number once", arguments: Caller.allCases)
    func invoke(caller: Caller) async throws {
        for count in [0, 1, 2, 100, 2_500] {
            let calls = Log<Int>()
            try await caller.call { Parallel().invoke(count: count) { calls.note($0) } }
            let expected = (0..<count).flatMap { Array(repeating: $0, count: caller == .branches ? 2 : 1) }
            #expect(calls.all.sorted() == expected)
        }
    }

    @Test("throws the first error as the type it has, after all that had begun", arguments: Caller.allCases)
    func errors(caller: Caller) async throws {
        for bad in [0, 1, 49, 50] {
            let (began, ended) = (Counter(), Counter())
            let problem = try await caller.call { () -> Flaw? in
                do throws(Flaw) {
                    let sum = try Parallel.join(count: 50, 0, { a, b throws(Flaw) in a + b }) { i throws(Flaw) in
                        began.add()
                        defer { ended.add() }
                        if i == bad { throw Flaw(number: bad) }
                        return i
                    }
                    return sum == 49 * 25 ? nil : Flaw(number: -1)
                } catch {
                    let over = ended.count // before those that began: another join counts here too
                    return began.count >= over ? error : nil
                }
            }
            #expect(problem == (bad < 50 ? Flaw(number: bad) : nil))
            #expect(began.count == ended.count)
        }
    }

    @Test("invoke tells branches that run elsewhere that one has thrown, and begins no more")
    func siblings() async throws {
        let (told, late) = (Counter(), Counter())
        let problem = try await TaskQueue(scheduler: makeScheduler(workers: 2)).run {
            thrown(Flaw.self) { () throws(Flaw) in
                // The last number runs here and first; the first is taken.
                let (begun, isOver) = (Counter(), Counter())
                try Parallel().invoke(count: 3) { i throws(Flaw) in
                    if i == 0 {
                        begun.add()
                        if eventually({ Cancellation.isRequested }) { told.add() }
                    } else if i == 2 {
                        _ = eventually { begun.count == 1 }
                        isOver.add()
                        throw Flaw(number: 2)
                    } else if isOver.count == 1, !Cancellation.isRequested {
                        late.add()
                    }
                }
            }
        }
        #expect(problem == Flaw(number: 2))
        #expect(told.count == 1)
        #expect(late.count == 0)
    }

    @Test("a combination's error is thrown too")
    func combiningThrows() throws {
        #expect(throws: Flaw(number: 7)) {
            try Parallel.join(count: 3, 0, { _, _ throws(Flaw) -> Int in throw Flaw(number: 7) }) { i throws(Flaw) in i }
        }
    }

    @Test("fewer than none is a mistake that says so")
    func negative() async {
        await #expect(processExitsWith: .failure) { Parallel().invoke(count: -1) { _ in } }
        await #expect(processExitsWith: .failure) { _ = Parallel.join(count: Int.min, 0, +) { $0 } }
    }
}
