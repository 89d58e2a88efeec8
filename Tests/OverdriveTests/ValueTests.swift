import Overdrive
import Testing

/// A value stays in its task, whatever its size, and goes with it.
@Suite("Values", .timeLimit(.minutes(10)))
struct ValueTests {
    /// Larger than a task has room for.
    private struct Large: Sendable {
        var numbers = (1, 2, 3, 4)
        var tracked: Tracked
    }

    /// Aligned more strictly than a task's words are.
    private struct Wide: Sendable {
        var numbers: SIMD4<Float> = [1, 2, 3, 4]
    }

    @Test("small, large, wide, none: each is read as often as anybody likes")
    func read() async throws {
        let queue = TaskQueue()
        let census = Census()
        do {
            let large = queue.add { Large(tracked: census.newborn()) }
            let wide = queue.add { Wide() }
            let none = queue.add {}
            let absent = queue.add { Int?.none }
            let text = queue.add { "a text that is longer than sixteen bytes of it" }
            let pair = queue.add { (1, census.newborn()) }
            for _ in 0..<3 {
                #expect(try await large.value.numbers == (1, 2, 3, 4))
                #expect(try await wide.value.numbers == [1, 2, 3, 4])
                try await none.value
                #expect(try await absent.value == nil)
                #expect(try await text.value.hasPrefix("a text"))
                #expect(try await pair.value.0 == 1)
            }
            #expect(census.alive == 2)
        }
        await queue.drained()
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 2)
    }

    @Test("go with their tasks, once each: of closures, of subclasses, of those that nobody reads")
    func letGo() async {
        final class Maker: Task<Large>, @unchecked Sendable {
            let census: Census
            init(_ census: Census) { self.census = census }
            override func run() { finish(with: .value(Large(tracked: census.newborn()))) }
        }
        let queue = TaskQueue()
        let census = Census()
        for number in 0..<300 {
            switch number % 3 {
            case 0: queue.add { census.newborn() }
            case 1: queue.add(task: Maker(census))
            default:
                let task = queue.add { Large(tracked: census.newborn()) }
                task.finish(with: .value(Large(tracked: census.newborn())))  // one of the two counts
            }
        }
        await queue.drained()
        #expect(eventually { census.alive == 0 })
        #expect(census.died >= 300)
    }
}
