import Testing

@testable import OverdriveCore

@Suite("Parallel: static forms and key paths", .timeLimit(.minutes(10)))
struct ParallelStaticsTests {
    struct Person: Sendable, Equatable {
        let age: Int, number: Int
    }
    let people = (0..<5_000).map { Person(age: $0 * 7919 % 97, number: $0) }

    @Test("sorts_by_key_path_agree_with_the_standard_library")
    func sorting() {
        let stable = people.enumerated().sorted { ($0.element.age, $0.offset) < ($1.element.age, $1.offset) }.map(\.element)
        #expect(Parallel.stableSorted(people, by: \.age) == stable)
        #expect(Parallel.stableSorted(people) { $0.age < $1.age } == stable)
        #expect(Parallel.sorted(people, by: \.age).map(\.age) == stable.map(\.age))
        var copy = people
        Parallel.stableSort(&copy, by: \.age)
        #expect(copy == stable)
        Parallel.sort(&copy, by: \.number)
        #expect(copy == people)
        #expect(Parallel.stableSorted([3, 1, 2]) == [1, 2, 3])
    }

    @Test("searches_and_counts_agree_with_the_standard_library")
    func searching() {
        let ages = people.map(\.age)
        #expect(Parallel.firstIndex(ages, of: 96) == ages.firstIndex(of: 96))
        #expect(Parallel.firstIndex(ages[10...]) { $0 == 5 } == ages[10...].firstIndex { $0 == 5 })
        #expect(Parallel.firstIndex(ages, of: -1) == nil)
        #expect(Parallel.count(ages) { $0 < 10 } == ages.count { $0 < 10 })
        #expect(Parallel.min(people, by: \.age) == people.first { $0.age == 0 })
        #expect(Parallel.max(people, by: \.age) == people.first { $0.age == 96 })
        let both = Parallel.minmax(ages)
        #expect(both?.min == 0 && both?.max == 96)
        #expect(Parallel.minmax([Int]()) == nil)
        #expect(Parallel(grain: 8).minmax(people) { $0.number > $1.number }?.min.number == people.count - 1)
    }

    @Test("static_forms_do_what_instance_forms_do")
    func twins() throws {
        let numbers = Array(0..<2_000)
        #expect(Parallel.filter(numbers) { $0 % 2 == 0 } == Parallel().filter(numbers) { $0 % 2 == 0 })
        #expect(Parallel.compactMap(numbers) { $0 > 5 ? $0 : nil }.count == 1_994)
        #expect(Parallel.flatMap(numbers) { [$0, $0] }.count == 4_000)
        #expect(Parallel.scan(numbers, 0, +).last == 1_999_000)
        #expect(Parallel.grouping(numbers) { $0 % 3 }.count == 3)
        #expect(Parallel.reduce(numbers, into: 0, { $0 += $1 }, combine: { $0 += $1 }) == 1_999_000)
        #expect(Parallel.contains(numbers, 7) && Parallel.allSatisfy(numbers) { $0 >= 0 })
        #expect(throws: Flaw.self) { try Parallel.forEachChunk(0..<100) { _ in throw Flaw() } }
    }

    @Test("memory_is_an_input_of_operations")
    func memory() {
        let numbers = (0..<10_000).map { $0 * 31 % 1_009 }
        let (greatest, sum) = numbers.withUnsafeBufferPointer {
            (unsafe Parallel.max(Parallel.Elements($0)), unsafe Parallel.reduce(Parallel.Elements($0), 0) { $0 &+ $1 })
        }
        #expect(greatest == numbers.max() && sum == numbers.reduce(0, +))
    }

    @Test("spans_are_inputs_of_operations")
    func spans() throws {
        let numbers = (0..<10_000).map { $0 * 31 % 1_009 }
        let span = numbers.span
        let visited = WorkerLocal { 0 }
        Parallel(grain: 100).forEach(span) { number in visited.with { $0 += number } }
        #expect(visited.values.reduce(0, +) == numbers.reduce(0, +))
        #expect(Parallel.map(span) { $0 + 1 } == numbers.map { $0 + 1 })
        #expect(Parallel.reduce(span, 0, +) == numbers.reduce(0, +))
        #expect(throws: Flaw.self) { try Parallel.forEach(numbers.span) { if $0 == 7 { throw Flaw() } } }
    }

    @Test("asynchronous_map_keeps_the_order_and_the_limit")
    func bounded() async throws {
        let (inside, excesses) = (Counter(), Counter())
        let doubled = try await Parallel.map(0..<40, atMost: 3) { number in
            if inside.add() > 3 { excesses.add() }
            try await Task.sleep(for: .microseconds(200))
            inside.add(-1)
            return number * 2
        }
        #expect(doubled == (0..<40).map { $0 * 2 } && excesses.count == 0)
        await #expect(throws: Flaw.self) {
            try await Parallel.forEach(0..<40, atMost: 2) { number in if number == 5 { throw Flaw() } }
        }
    }
}
