import OverdriveCore
import Testing

@Suite("Parallel writing and scratch", .timeLimit(.minutes(10)))
struct ParallelWritingTests {
    private static func mergeSort(_ span: inout MutableSpan<Int>) {
        if span.count < 2 { return }
        let middle = span.count / 2
        _ = Parallel().join(splitting: &span, at: middle) { left in mergeSort(&left) } _: { right in mergeSort(&right) }
        var merged: [Int] = []
        var (i, j) = (0, middle)
        while i < middle || j < span.count {
            if j == span.count || i < middle && span[i] <= span[j] {
                merged.append(span[i])
                i += 1
            } else {
                merged.append(span[j])
                j += 1
            }
        }
        for place in 0..<span.count { span[place] = merged[place] }
    }

    @Test("forEach(mutating:) gives each element to one call", arguments: Caller.allCases)
    func mutating(caller: Caller) async throws {
        for count in lengths {
            let numbers = scrambled(count)
            let (changed, kept) = try await caller.call { () -> ([Int], [Int]) in
                var changed = numbers
                let kept = changed
                Parallel().forEach(mutating: &changed) { i, number in number = number &* 3 &+ i }
                return (changed, kept)
            }
            #expect(changed == numbers.enumerated().map { $1 &* 3 &+ $0 })
            #expect(kept == numbers)
        }
    }

    @Test("chunks(of:) gives out neighbours", arguments: Caller.allCases, [1, 3, 64, 1_000_000])
    func chunks(caller: Caller, size: Int) async throws {
        for count in lengths where count / size <= 5_000 {
            let filled = try await caller.call { () -> [Int] in
                var array = [Int](repeating: -1, count: count)
                Parallel().chunks(of: &array, size: size) { number, span in
                    for i in 0..<span.count { span[i] = number * size + i }
                }
                return array
            }
            #expect(filled == Array(0..<count))
        }
    }

    @Test("errors leave the array whole")
    func errors() {
        var words = (0..<1_000).map { String($0) }
        #expect(throws: Flaw()) {
            try Parallel().forEach(mutating: &words) { i, word throws(Flaw) in
                if i == 700 { throw Flaw() }
                word += "!"
            }
        }
        #expect(words[700] == "700")
        #expect(words.count == 1_000)
        #expect(throws: Flaw()) {
            try Parallel().chunks(of: &words, size: 10) { _, _ throws(Flaw) in throw Flaw() }
        }
    }

    @Test("join(splitting:) sorts", arguments: Caller.allCases)
    func splitting(caller: Caller) async throws {
        for count in [0, 1, 2, 3, 7, 64, 1_000, 5_000] {
            let numbers = scrambled(count)
            let sorted = try await caller.call { () -> [Int] in
                var numbers = numbers
                var span = numbers.mutableSpan
                Self.mergeSort(&span)
                return numbers
            }
            #expect(sorted == numbers.sorted())
        }
    }

    @Test("scratch is made at most once for each thread that takes part", arguments: Caller.allCases)
    func scratch(caller: Caller) async throws {
        for count in lengths {
            let (made, threads, sum) = try await caller.call { () -> (Int, Int, Int) in
                let (made, sum) = (Counter(), Counter())
                let threads = WorkerLocal { threadIdentity() }
                Parallel().forEachChunk(0..<count, scratch: { made.add() }) { part, scratch in
                    scratch += 1
                    threads.with { _ in }
                    sum.add(part.count)
                }
                return (made.count, threads.values.count, sum.count)
            }
            #expect(made == threads)
            #expect(sum == count)
        }
    }

    @Test("WorkerLocal keeps every value, and gives a further one to who asks twice", arguments: Caller.allCases)
    func workerLocal(caller: Caller) async throws {
        let (sum, inner) = try await caller.call { () -> (Int, [Int]) in
            let sums = WorkerLocal { 0 }
            Parallel.forEach(0..<10_000) { i in sums.with { $0 += i } }
            let twice = WorkerLocal { 0 }
            twice.with { outer in
                outer = 1
                twice.with { $0 = 2 }
            }
            return (sums.values.reduce(0, +), twice.values.sorted())
        }
        #expect(sum == 10_000 * 9_999 / 2)
        #expect(inner == [1, 2])
        let census = Census()
        do {
            let values = WorkerLocal { census.newborn() }
            values.with { outer in values.with { _ in outer.touch() } }
        }
        #expect(census.died == 2 && census.alive == 0)
    }

    @Test("WorkerLocal changes a value where it lies, however large it is")
    func workerLocalInPlace() {
        let store = WorkerLocal { [Int](repeating: 0, count: 10_000) }
        var addresses: Set<UInt> = []
        for i in 0..<100 {
            store.with { numbers in
                numbers[i] += 1
                numbers.withUnsafeBufferPointer { _ = addresses.insert(UInt(bitPattern: $0.baseAddress)) }
            }
        }
        #expect(addresses.count == 1)
        #expect(store.values == [[Int](repeating: 1, count: 100) + [Int](repeating: 0, count: 9_900)])
    }

    @Test("WorkerLocal_reset_makes_new_values_and_keeps_a_value_in_use")
    func reset() {
        let hits = WorkerLocal { 0 }
        for _ in 0..<3 {
            Parallel.forEach(0..<1_000) { _ in hits.with { $0 += 1 } }
            #expect(hits.values.reduce(0, +) == 1_000)
            hits.reset()
            #expect(hits.values.allSatisfy { $0 == 0 })
        }
        hits.with { value in
            value = 7
            hits.reset()
            #expect(value == 7)
        }
        #expect(hits.values.contains(7))
    }

    /// Of two who asked at the same time one was given fewer: what the other just copied counted as in use.
    @Test("WorkerLocal gives all its values to each of many who ask at the same time")
    func workerLocalReaders() {
        let store = WorkerLocal { [Int](repeating: 0, count: 256) }
        store.with { _ in store.with { _ in store.with { _ in store.with { $0[0] += 1 } } } }
        let short = Counter()
        onThreads(4) { _ in
            for _ in 0..<20_000 where store.values.count != 4 { short.add() }
        }
        #expect(short.count == 0)
    }

    @Test("forEachChunk changes its scratch where it lies")
    func scratchInPlace() {
        let (made, addresses) = (Counter(), WorkerLocal { Set<UInt>() })
        let scratch: @Sendable () -> [Int] = {
            made.add()
            return [Int](repeating: 0, count: 10_000)
        }
        Parallel(grain: 1).forEachChunk(0..<2_000, scratch: scratch) { part, scratch in
            scratch[part.lowerBound] += 1
            let address = scratch.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            addresses.with { _ = $0.insert(address) }
        }
        #expect(addresses.values.allSatisfy { $0.count == 1 })
        #expect(addresses.values.count == made.count)
    }

    @Test("WorkerLocal's values may be looked at while they are changed: none is seen in the middle, none is made twice")
    func workerLocalLooks() {
        let store = WorkerLocal { (0, 0) }
        onThreads(3) { number in
            for _ in 0..<20_000 {
                if number == 0 {
                    for pair in store.values where pair.0 != pair.1 { Issue.record("\(pair) was seen in the middle") }
                } else {
                    store.with {
                        $0.0 += 1
                        $0.1 += 1
                    }
                }
            }
        }
        #expect(store.values.count == 2)
        #expect(store.values.reduce(0) { $0 + $1.0 } == 40_000)
    }
}
