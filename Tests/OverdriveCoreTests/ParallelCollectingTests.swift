import Glibc
import OverdriveCore
import Testing

/// What collects and searches: against the same of the standard library's.
@Suite("Parallel: collecting and searching", .timeLimit(.minutes(10)))
struct ParallelCollectingTests {
    private struct Person: Sendable, Equatable {
        let age: Int
        let name: String
    }

    private static let counts = [0, 1, 2, 255, 256, 257, 1_024, 1_025, 50_000]

    /// The same with nothing asked, with a grain, and with everything that has to be looked after.
    private static let values = [
        Parallel(), Parallel(grain: 7),
        Parallel(on: makeScheduler(workers: 2), placement: .firstTouch, token: CancellationToken(), progress: .init()),
    ]

    @Test("compactMap and flatMap keep the order", arguments: counts)
    func maps(count: Int) {
        let numbers = scrambled(count, below: 1_000)
        for p in Self.values {
            #expect(p.compactMap(numbers) { $0 % 3 == 0 ? String($0) : nil }
                == numbers.compactMap { $0 % 3 == 0 ? String($0) : nil })
            #expect(p.flatMap(numbers) { 0..<$0 % 4 } == numbers.flatMap { 0..<$0 % 4 })
        }
    }

    @Test("reduce(into:) collects in order, and grouping keeps the order in each group", arguments: counts)
    func collected(count: Int) {
        let numbers = scrambled(count, below: 100)
        for p in Self.values {
            #expect(p.reduce(numbers, into: []) { $0.append($1) } combine: { $0 += $1 } == numbers)
            let counts = p.reduce(numbers, into: [Int: Int]()) { $0[$1, default: 0] += 1 } combine: {
                $0.merge($1, uniquingKeysWith: +)
            }
            #expect(counts == numbers.reduce(into: [:]) { $0[$1, default: 0] += 1 })
            let items = numbers.enumerated().map { [$0.offset, $0.element] }
            #expect(p.grouping(items, by: { $0[1] }) == Dictionary(grouping: items, by: { $0[1] }))
        }
    }

    @Test("reduce over a collection maps each element", arguments: counts)
    func mapped(count: Int) {
        let words = scrambled(count, below: 1_000).map { String($0) }
        for p in Self.values {
            #expect(p.reduce(words, 0, map: { $0.count }, combine: +) == words.reduce(0) { $0 + $1.count })
            #expect(p.reduce(words, "", map: { String($0.prefix(1)) }, combine: +) == words.map { $0.prefix(1) }.joined())
        }
        #expect(Parallel.reduce(words, 0, map: { $0.count }, combine: max) == words.map(\.count).max() ?? 0)
    }

    @Test("first is the first, contains and allSatisfy say so", arguments: counts)
    func searches(count: Int) {
        let numbers = scrambled(count, below: 2 * count + 1)
        for p in Self.values {
            for divisor in [1, 2, 97, 10_007] {
                let isSo = { @Sendable (number: Int) in number % divisor == divisor - 1 }
                #expect(p.first(numbers, where: isSo) == numbers.first(where: isSo))
                #expect(p.contains(numbers, where: isSo) == numbers.contains(where: isSo))
                #expect(p.allSatisfy(numbers) { !isSo($0) } == numbers.allSatisfy { !isSo($0) })
            }
            for number in [0, count, numbers.last ?? 1] { #expect(p.contains(numbers, number) == numbers.contains(number)) }
        }
    }

    @Test("a search leaves out what is behind its result")
    func earlyExit() {
        for p in Self.values {
            let asked = Counter()
            #expect(p.first(0..<1_000_000_000) { asked.add() > 0 && $0 >= 1_000 } == 1_000)
            #expect(asked.count < 500_000_000)
        }
    }

    @Test("a search throws where one from front to back would have, and what that would have", arguments: [1, 2, 300, 60_000])
    func searchErrors(count: Int) {
        for (found, bad) in [(count / 2, count - 1), (count - 1, count / 2), (count, 0)] {
            for p in Self.values {
                var outcome: Result<Int?, Flaw>
                do throws(Flaw) {
                    outcome = .success(try p.first(0..<count) { i throws(Flaw) in
                        if i >= bad && bad != found { throw Flaw(number: i) }
                        return i == found
                    })
                } catch {
                    outcome = .failure(error)
                }
                #expect(outcome == (found <= bad ? .success(found) : .failure(Flaw(number: bad))))
            }
        }
    }

    /// The one that came last was kept, and the place of the first was told as found.
    @Test("a search throws the first error, though one from further back comes after it")
    func errorFromFurtherBack() {
        let p = Parallel(on: makeScheduler(workers: 2))
        for _ in 0..<300 {
            let (back, front) = (Counter(), Counter())
            var outcome: Result<Int?, Flaw>
            do throws(Flaw) {
                outcome = .success(try p.first(0..<2) { i throws(Flaw) in
                    if i == 0 {
                        // Not without end: both may be one worker's.
                        for _ in 0..<1_000 where back.count == 0 { sched_yield() }
                        front.add()
                    } else {
                        back.add()
                        for _ in 0..<1_000 where front.count == 0 { sched_yield() }
                        for _ in 0..<10 { sched_yield() }
                    }
                    throw Flaw(number: i)
                })
            } catch {
                outcome = .failure(error)
            }
            #expect(outcome == .failure(Flaw(number: 0)))
        }
    }

    @Test("a search has found what stands before an error, though that came first")
    func errorBehindWhatIsFound() throws {
        let p = Parallel(on: makeScheduler(workers: 2))
        for _ in 0..<20 {
            let back = Counter()
            let found = try p.first(0..<2) { i in
                if i == 0 {
                    // Not without end: both may be one worker's.
                    for _ in 0..<10_000 where back.count == 0 { sched_yield() }
                    for _ in 0..<100 { sched_yield() }
                    return true
                }
                back.add()
                throw Flaw(number: i)
            }
            #expect(found == 0)
        }
    }

    @Test("a token ends them where their closures may throw")
    func cancelled() {
        let token = CancellationToken()
        token.cancel()
        let (p, numbers) = (Parallel(token: token), Array(0..<1_000))
        #expect(throws: CancellationError.self) { try p.compactMap(numbers) { i throws in i } }
        #expect(throws: CancellationError.self) { try p.flatMap(numbers) { i throws in [i] } }
        #expect(throws: CancellationError.self) { try p.grouping(numbers) { i throws in i } }
        #expect(throws: CancellationError.self) { try p.first(numbers) { _ throws in false } }
        #expect(throws: CancellationError.self) { try p.join(count: 3, 0) { a, b throws in a + b } _: { i throws in i } }
        #expect(p.map(numbers) { $0 } == numbers)
        #expect(p.sorted(numbers) == numbers)
        #expect(p.join { Cancellation.isRequested } _: { Cancellation.isRequested } == (true, true))
        p.scope { scope in scope.fork { if !Cancellation.isRequested { fatalError("the child was not told") } } }
    }

    @Test("a token ends them where there is nothing to collect, too")
    func cancelledOfNothing() {
        let token = CancellationToken()
        token.cancel()
        let (p, none) = (Parallel(token: token), [Int]())
        #expect(throws: CancellationError.self) {
            try p.reduce(none, into: 0) { (sum: inout Int, i) throws in sum += i } combine: { (_: inout Int, _) throws in }
        }
        #expect(throws: CancellationError.self) { try p.grouping(none) { i throws in i } }
    }

    @Test("errors of collecting closures come back as they are", arguments: [1, 1_000])
    func errors(count: Int) {
        for p in Self.values {
            #expect(throws: Flaw(number: 0)) {
                try p.compactMap(0..<count) { i throws(Flaw) -> Int? in if i == 0 { throw Flaw(number: i) } else { nil } }
            }
            #expect(throws: Flaw(number: 0)) {
                try p.grouping(0..<count) { i throws(Flaw) -> Int in if i == 0 { throw Flaw(number: i) } else { i } }
            }
        }
        #expect(throws: Flaw(number: -1)) {
            try Parallel().reduce(0..<1_000, into: 0) { (sum: inout Int, i) throws(Flaw) in sum += i } combine: {
                (_: inout Int, _) throws(Flaw) in throw Flaw(number: -1)
            }
        }
    }

    @Test("sorted, and sort by key path", arguments: counts)
    func sorts(count: Int) {
        let people = scrambled(count, below: 90).enumerated().map { Person(age: $0.element, name: "\($0.offset)") }
        let ages = people.map(\.age)
        for p in Self.values {
            #expect(p.sorted(ages) == ages.sorted())
            #expect(p.sorted(ages, by: >) == ages.sorted(by: >))
            var array = people
            p.sort(&array, by: \.age)
            #expect(array.map(\.age) == ages.sorted())
            #expect(Set(array.map(\.name)).count == count)
        }
    }

    @Test("progress of collecting and searching ends at the number of elements", arguments: counts)
    func progress(count: Int) {
        let progress = (0..<7).map { _ in Parallel.Progress() }
        let numbers = Array(0..<count)
        _ = Parallel(progress: progress[0]).compactMap(numbers) { $0 }
        _ = Parallel(progress: progress[1]).reduce(numbers, into: 0) { $0 += $1 } combine: { $0 += $1 }
        _ = Parallel(progress: progress[2]).allSatisfy(numbers) { $0 >= 0 }
        _ = Parallel(progress: progress[3]).max(numbers)
        _ = Parallel(progress: progress[4]).sorted(numbers)
        _ = Parallel(progress: progress[5]).scan(numbers, 0, +)
        _ = Parallel(progress: progress[6]).reduce(numbers, 0, map: { $0 }, combine: +)
        #expect(progress.map(\.completed) == Array(repeating: count, count: 7))
    }
}
