import OverdriveCore
import Testing

/// The forms that may end early or suspend, against the plain ones.
@Suite("Parallel: forms that throw, are cancelled, or suspend", .timeLimit(.minutes(10)))
struct ParallelFormsTests {
    private static let counts = [0, 1, 2, 100, 4_097]

    @Test("forEach over a collection visits each element once", arguments: counts)
    func elements(count: Int) throws {
        let slice = Array(0..<count + 5)[5...]
        let sums = (0..<3).map { _ in Counter() }
        Parallel.forEach(slice) { sums[0].add($0) }
        try Parallel(on: makeScheduler()).forEach(slice) { (i: Int) throws(Flaw) in _ = sums[1].add(i) }
        try Parallel(token: CancellationToken()).forEach(slice) { i throws in _ = sums[2].add(i) }
        #expect(sums.map(\.count) == Array(repeating: slice.reduce(0, +), count: 3))
    }

    @Test("scan and reduce combine what the plain ones do", arguments: counts)
    func combinations(count: Int) throws {
        let slice = Array(0..<count + 5)[5...]
        let plain = Parallel().scan(slice, 0, +)
        let sum = Parallel.reduce(slice, 0, +)
        let checked = { @Sendable (a: Int, b: Int) throws(Flaw) in a + b }
        let progress = Parallel.Progress()
        #expect(try Parallel(progress: progress).scan(slice, 0, checked) == plain)
        #expect(progress.completed == count)
        #expect(try Parallel(token: CancellationToken()).scan(slice, 0) { a, b throws in a + b } == plain)
        #expect(try Parallel.reduce(slice, 0, checked) == sum)
        #expect(try Parallel(token: CancellationToken()).reduce(slice, 0) { a, b throws in a + b } == sum)
    }

    @Test("the first error ends them, with its type")
    func errors() {
        let numbers = Array(0..<10_000)
        let refusing = { @Sendable (a: Int, b: Int) throws(Flaw) -> Int in
            if b == 7_000 { throw Flaw() }
            return a + b
        }
        let refused = [
            isRefused { () throws(Flaw) in _ = try Parallel().scan(numbers, 0, refusing) },
            isRefused { () throws(Flaw) in _ = try Parallel.reduce(numbers, 0, refusing) },
            isRefused { () throws(Flaw) in
                try Parallel.forEach(numbers) { (i: Int) throws(Flaw) in if i == 7_000 { throw Flaw() } }
            },
            isRefused { () throws(Flaw) in
                try Parallel().invoke { () throws(Flaw) in } _: { () throws(Flaw) in
                } _: { () throws(Flaw) in throw Flaw() }
            },
        ]
        #expect(refused == [true, true, true, true])
    }

    private func isRefused(_ body: () throws(Flaw) -> Void) -> Bool {
        thrown(Flaw.self, by: body) == Flaw()
    }

    @Test("a sort whose order throws keeps all elements", arguments: [0, 1, 10, 1_000, 20_000])
    func throwingSorts(count: Int) {
        let numbers = scrambled(count)
        let sorted = numbers.sorted()
        for limit in [Int.max, count / 2] {
            let calls = Counter()
            let order = { @Sendable (a: Int, b: Int) throws(Flaw) -> Bool in
                calls.add()
                if calls.count > limit { throw Flaw() }
                return a < b
            }
            for stable in [false, true] {
                var array = numbers
                do throws(Flaw) {
                    if stable { try Parallel().stableSort(&array, by: order) } else { try Parallel().sort(&array, by: order) }
                    #expect(array == sorted)
                } catch {
                    #expect(limit != .max)
                }
                #expect(array.sorted() == sorted)
            }
        }
    }

    @Test("a sort's progress ends at the number of elements, whatever their order", arguments: [0, 1, 2, 24, 25, 2_047, 2_048, 50_000])
    func sortsProgress(count: Int) async throws {
        let few = (0..<count).map { $0 % 3 }
        let shapes = [scrambled(count), Array(0..<count), Array((0..<count).reversed()), few, Array(repeating: 7, count: count)]
        for numbers in shapes {
            let sorted = numbers.sorted()
            let progress = (0..<6).map { _ in Parallel.Progress() }
            var arrays = try sortedInFourWays(numbers, progress) + [numbers, numbers]
            await Parallel(progress: progress[4]).run(mutating: &arrays[4]) { p, array in p.sort(&array) }
            await Parallel(progress: progress[5]).run(mutating: &arrays[5]) { p, array in p.stableSort(&array) { $0 < $1 } }
            #expect(arrays.allSatisfy { $0 == sorted })
            #expect(progress.map(\.completed) == Array(repeating: count, count: 6))
        }
    }

    private func sortedInFourWays(_ numbers: [Int], _ progress: [Parallel.Progress]) throws -> [[Int]] {
        var arrays = Array(repeating: numbers, count: 4)
        Parallel(progress: progress[0]).sort(&arrays[0]) { $0 < $1 }
        Parallel(progress: progress[1]).stableSort(&arrays[1]) { $0 < $1 }
        try Parallel(token: CancellationToken(), progress: progress[2]).sort(&arrays[2]) { a, b throws in a < b }
        try Parallel(token: CancellationToken(), progress: progress[3]).stableSort(&arrays[3]) { a, b throws in a < b }
        return arrays
    }

    /// It went on to all of them: what is left is run through without being compared.
    @Test("a sort's progress stands where it threw or was cancelled", arguments: [false, true], [false, true])
    func sortsProgressStands(stable: Bool, byToken: Bool) {
        var numbers = scrambled(100_000)
        let (progress, token, calls) = (Parallel.Progress(), CancellationToken(), Counter())
        let order = { @Sendable (a: Int, b: Int) throws -> Bool in
            if calls.add() >= 500_000 {  // Whoever comes to it: the first may lose its CPU right there.
                token.cancel()
                if !byToken { throw Flaw() }
            }
            return a < b
        }
        #expect(throws: (any Error).self) {
            if stable {
                try Parallel(token: token, progress: progress).stableSort(&numbers, by: order)
            } else {
                try Parallel(token: token, progress: progress).sort(&numbers, by: order)
            }
        }
        #expect((1..<90_000).contains(progress.completed), "\(progress.completed)")
        #expect(calls.count < 510_000)
        var one = [1]
        let none = Parallel.Progress()
        #expect(throws: CancellationError.self) { try Parallel(token: token, progress: none).sort(&one) { a, b throws in a < b } }
        #expect(none.completed == 0)
    }

    /// Many elements, so that it is not one leap at the end; and it does not fall.
    @Test("a sort's progress is made on the way", arguments: [false, true])
    func sortsProgressGrows(stable: Bool) {
        var numbers = scrambled(100_000)
        let (progress, seen) = (Parallel.Progress(), Log<Int>())
        let order = { @Sendable (a: Int, b: Int) -> Bool in
            if a & 1_023 == 0 { seen.note(progress.completed) }
            return a < b
        }
        if stable {
            Parallel(progress: progress).stableSort(&numbers, by: order)
        } else {
            Parallel(progress: progress).sort(&numbers, by: order)
        }
        let steps = Set(seen.all)
        #expect(steps.count > 10)
        #expect(steps.allSatisfy { (0...100_000).contains($0) })
        #expect(progress.completed == 100_000)
    }

    @Test("a cancelled sort throws and keeps all elements")
    func cancelledSorts() {
        let numbers = scrambled(5_000)
        let token = CancellationToken()
        token.cancel()
        var array = numbers
        #expect(throws: CancellationError.self) { try Parallel(token: token).sort(&array) { a, b throws in a < b } }
        #expect(array.sorted() == numbers.sorted())
        #expect(throws: CancellationError.self) { try Parallel(token: token).stableSort(&array) { a, b throws in a < b } }
        #expect(array.sorted() == numbers.sorted())
        #expect(throws: CancellationError.self) { try Parallel(token: token).scan(numbers, 0) { a, b throws in a &+ b } }
    }

    @Test("a task's cancellation ends a sort that suspends, and gives all elements back")
    func cancelledTask() async {
        let numbers = scrambled(50_000)
        let (begun, unaware) = (Counter(), Counter())
        let task = Task {
            var array = numbers
            do {
                try await Parallel().run(mutating: &array) { p, array in
                    try p.sort(&array) { a, b throws in
                        begun.add()
                        waitForCancellation(unaware)
                        return a < b
                    }
                }
                return (false, array)
            } catch {
                return (error is CancellationError, array)
            }
        }
        cancel(task, when: begun)
        let (isCancelled, array) = await task.value
        #expect(isCancelled)
        #expect(unaware.count == 0)
        #expect(array.sorted() == numbers.sorted())
    }

    @Test("min and max by an order of one's own")
    func extremes() {
        let words = (0..<5_000).map { "\($0 * 7_919 % 5_003)" }
        #expect(Parallel().min(words, by: { $0.count > $1.count }) == words.min { $0.count > $1.count })
        #expect(Parallel().max(words, by: { $0 < $1 }) == words.max())
        #expect(Parallel().min([Int](), by: <) == nil)
    }
}
