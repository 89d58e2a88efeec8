import OverdriveCore
import Testing

/// The forms that may end early or suspend, against the plain ones.
@Suite("Parallel: forms that throw, are cancelled, or suspend", .timeLimit(.minutes(10)))
struct ParallelFormsTests {
    private struct Refused: Error, Equatable {}

    private static let counts = [0, 1, 2, 100, 4_097]

    @Test("forEach over a collection visits each element once", arguments: counts)
    func elements(count: Int) throws {
        let slice = Array(0..<count + 5)[5...]
        let sums = (0..<3).map { _ in Counter() }
        Parallel.forEach(slice) { sums[0].add($0) }
        try Parallel.forEach(slice, on: makeScheduler()) { (i: Int) throws(Refused) in _ = sums[1].add(i) }
        try Parallel.forEach(slice, token: CancellationToken()) { sums[2].add($0) }
        #expect(sums.map(\.count) == Array(repeating: slice.reduce(0, +), count: 3))
    }

    @Test("scan and reduce combine what the plain ones do", arguments: counts)
    func combinations(count: Int) throws {
        let slice = Array(0..<count + 5)[5...]
        let plain = Parallel.scan(slice, 0, +)
        let sum = Parallel.reduce(slice, 0, +)
        let checked = { @Sendable (a: Int, b: Int) throws(Refused) in a + b }
        let progress = Parallel.Progress()
        #expect(try Parallel.scan(slice, 0, progress: progress, checked) == plain)
        #expect(progress.completed == count)
        #expect(try Parallel.scan(slice, 0, token: CancellationToken()) { $0 + $1 } == plain)
        #expect(try Parallel.reduce(slice, 0, checked) == sum)
        #expect(try Parallel.reduce(slice, 0, token: CancellationToken()) { $0 + $1 } == sum)
    }

    @Test("the forms that suspend do the same", arguments: counts)
    func suspending(count: Int) async throws {
        let slice = Array(0..<count + 5)[5...]
        let sum = Counter()
        await Parallel.forEach(slice) { _ = sum.add($0) }
        let total = slice.reduce(0, +)
        #expect(sum.count == total)
        #expect(await Parallel.reduce(slice, 0) { $0 + $1 } == total)
        #expect(await Parallel.scan(slice, 0) { $0 + $1 }.last ?? 0 == total)
    }

    @Test("the first error ends them, with its type")
    func errors() {
        let numbers = Array(0..<10_000)
        let refusing = { @Sendable (a: Int, b: Int) throws(Refused) -> Int in
            if b == 7_000 { throw Refused() }
            return a + b
        }
        let refused = [
            isRefused { () throws(Refused) in _ = try Parallel.scan(numbers, 0, refusing) },
            isRefused { () throws(Refused) in _ = try Parallel.reduce(numbers, 0, refusing) },
            isRefused { () throws(Refused) in
                try Parallel.forEach(numbers) { (i: Int) throws(Refused) in if i == 7_000 { throw Refused() } }
            },
            isRefused { () throws(Refused) in
                try Parallel.invoke { () throws(Refused) in } _: { () throws(Refused) in
                } _: { () throws(Refused) in throw Refused() }
            },
        ]
        #expect(refused == [true, true, true, true])
        #expect(throws: Refused()) { try Parallel.invoke(throwing: [{}, { throw Refused() }]) }
    }

    private func isRefused(_ body: () throws(Refused) -> Void) -> Bool {
        do throws(Refused) {
            try body()
            return false
        } catch {
            return error == Refused()
        }
    }

    @Test("a sort whose order throws keeps all elements", arguments: [0, 1, 10, 1_000, 20_000])
    func throwingSorts(count: Int) {
        let numbers = scrambled(count)
        let sorted = numbers.sorted()
        for limit in [Int.max, count / 2] {
            let calls = Counter()
            let order = { @Sendable (a: Int, b: Int) throws(Refused) -> Bool in
                calls.add()
                if calls.count > limit { throw Refused() }
                return a < b
            }
            for stable in [false, true] {
                var array = numbers
                do throws(Refused) {
                    if stable { try Parallel.stableSort(&array, by: order) } else { try Parallel.sort(&array, by: order) }
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
            await Parallel.sort(&arrays[4], progress: progress[4]) { $0 < $1 }
            await Parallel.stableSort(&arrays[5], progress: progress[5]) { $0 < $1 }
            #expect(arrays.allSatisfy { $0 == sorted })
            #expect(progress.map(\.completed) == Array(repeating: count, count: 6))
        }
    }

    private func sortedInFourWays(_ numbers: [Int], _ progress: [Parallel.Progress]) throws -> [[Int]] {
        var arrays = Array(repeating: numbers, count: 4)
        Parallel.sort(&arrays[0], progress: progress[0]) { $0 < $1 }
        Parallel.stableSort(&arrays[1], progress: progress[1]) { $0 < $1 }
        try Parallel.sort(&arrays[2], token: CancellationToken(), progress: progress[2]) { $0 < $1 }
        try Parallel.stableSort(&arrays[3], token: CancellationToken(), progress: progress[3]) { $0 < $1 }
        return arrays
    }

    /// It went on to all of them: what is left is run through without being compared.
    @Test("a sort's progress stands where it threw or was cancelled", arguments: [false, true], [false, true])
    func sortsProgressStands(stable: Bool, byToken: Bool) {
        var numbers = scrambled(100_000)
        let (progress, token, calls) = (Parallel.Progress(), CancellationToken(), Counter())
        let order = { @Sendable (a: Int, b: Int) throws -> Bool in
            if calls.add() == 500_000 {
                token.cancel()
                if !byToken { throw Flaw() }
            }
            return a < b
        }
        #expect(throws: (any Error).self) {
            if stable {
                try Parallel.stableSort(&numbers, token: token, progress: progress, by: order)
            } else {
                try Parallel.sort(&numbers, token: token, progress: progress, by: order)
            }
        }
        #expect((1..<90_000).contains(progress.completed), "\(progress.completed)")
        var one = [1]
        let none = Parallel.Progress()
        #expect(throws: CancellationError.self) { try Parallel.sort(&one, token: token, progress: none) { $0 < $1 } }
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
            Parallel.stableSort(&numbers, progress: progress, by: order)
        } else {
            Parallel.sort(&numbers, progress: progress, by: order)
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
        #expect(throws: CancellationError.self) { try Parallel.sort(&array, token: token) { $0 < $1 } }
        #expect(array.sorted() == numbers.sorted())
        #expect(throws: CancellationError.self) { try Parallel.stableSort(&array, token: token) { $0 < $1 } }
        #expect(array.sorted() == numbers.sorted())
        #expect(throws: CancellationError.self) { try Parallel.scan(numbers, 0, token: token) { $0 &+ $1 } }
    }

    @Test("a task's cancellation ends a sort that suspends, and gives all elements back")
    func cancelledTask() async {
        let numbers = scrambled(50_000)
        let (begun, unaware) = (Counter(), Counter())
        let task = Task {
            var array = numbers
            do {
                try await Parallel.sort(&array, token: CancellationToken()) { a, b in
                    begun.add()
                    waitForCancellation(unaware)
                    return a < b
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

    @Test("sorts that suspend sort in place", arguments: [0, 1, 10, 5_000])
    func suspendingSorts(count: Int) async throws {
        let numbers = scrambled(count)
        var (a, b, c, d) = (numbers, numbers, numbers, numbers)
        await Parallel.sort(&a)
        await Parallel.stableSort(&b)
        await Parallel.sort(&c) { $0 > $1 }
        await Parallel.stableSort(&d) { $0 > $1 }
        #expect(a == numbers.sorted())
        #expect(b == numbers.sorted())
        #expect(c == numbers.sorted(by: >))
        #expect(d == numbers.sorted(by: >))
    }

    @Test("min and max by an order of one's own")
    func extremes() {
        let words = (0..<5_000).map { "\($0 * 7_919 % 5_003)" }
        #expect(Parallel.min(words, by: { $0.count > $1.count }) == words.min { $0.count > $1.count })
        #expect(Parallel.max(words, by: { $0 < $1 }) == words.max())
        #expect(Parallel.min([Int](), by: <) == nil)
    }
}
