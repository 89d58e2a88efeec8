import OverdriveCore
import Testing

/// What changes arrays, has scratch or searches: with progress, until it is cancelled, and for tasks.
@Suite("Parallel: writing and searching until cancelled, and for tasks", .timeLimit(.minutes(10)))
struct ParallelWritingFormsTests {
    private static let counts = [0, 1, 2, 255, 256, 5_000]

    @Test("arrays are changed with progress, with a token and by tasks as without", arguments: counts)
    func changed(count: Int) async throws {
        let expected = (0..<count).map { $0 * 2 }
        let (progress, token) = (Parallel.Progress(), CancellationToken())
        var array = Array(0..<count)
        func here() throws {
            Parallel(progress: progress).forEach(mutating: &array) { _, number in number += 1 }
            try Parallel(token: token, progress: progress).forEach(mutating: &array) { _, number throws in number -= 1 }
            #expect(progress.completed == 2 * count)
            Parallel(progress: progress).chunks(of: &array, size: 7) { _, span in
                for i in span.indices { span[i] += 1 }
            }
            try Parallel(token: token, progress: progress).chunks(of: &array, size: 7) { _, span throws in
                for i in span.indices { span[i] -= 1 }
            }
            #expect(progress.completed == 4 * count)
        }
        try here()
        #expect(array == Array(0..<count))
        await Parallel().run(mutating: &array) { p, array in p.forEach(mutating: &array) { i, number in number += i } }
        #expect(array == expected)
        await Parallel().run(mutating: &array) { p, array in
            p.chunks(of: &array, size: 100) { part, span in
                for i in span.indices { span[i] -= 100 * part + i }
            }
        }
        #expect(array == Array(0..<count))
    }

    @Test("scratch with progress, with a token and for tasks", arguments: counts)
    func scratch(count: Int) async throws {
        let (progress, done) = (Parallel.Progress(), Counter())
        func here() throws {
            Parallel(progress: progress).forEachChunk(0..<count, scratch: { 0 }) { part, _ in done.add(part.count) }
            try Parallel(token: CancellationToken(), progress: progress).forEachChunk(0..<count, scratch: { 0 }) {
                part, _ throws in _ = done.add(part.count)
            }
        }
        try here()
        await Parallel(progress: progress).run { p in
            p.forEachChunk(0..<count, scratch: { 0 }) { part, _ in _ = done.add(part.count) }
        }
        #expect(progress.completed == 3 * count)
        #expect(done.count == 3 * count)
    }

    @Test("a token that is cancelled ends them before they begin, and arrays stay whole")
    func cancelled() async {
        let token = CancellationToken()
        token.cancel()
        var array = Array(0..<1_000)
        func here() {
            #expect(throws: CancellationError.self) {
                try Parallel(token: token).forEach(mutating: &array) { _, number throws in number = 0 }
            }
            #expect(throws: CancellationError.self) {
                try Parallel(token: token).chunks(of: &array, size: 10) { _, span throws in span[0] = 0 }
            }
            #expect(throws: CancellationError.self) {
                try Parallel(token: token).forEachChunk(0..<10, scratch: { 0 }) { _, _ throws in }
            }
            #expect(throws: CancellationError.self) { try Parallel(token: token).min([1, 2]) { a, b throws in a < b } }
            #expect(throws: CancellationError.self) { try Parallel(token: token).max([1, 2]) { a, b throws in a < b } }
        }
        here()
        await #expect(throws: CancellationError.self) {
            try await Parallel(token: token).run(mutating: &array) { p, array in
                try p.forEach(mutating: &array) { _, number throws in number = 0 }
            }
        }
        await #expect(throws: CancellationError.self) {
            try await Parallel(token: token).run(mutating: &array) { p, array in
                try p.chunks(of: &array, size: 10) { _, span throws in span[0] = 0 }
            }
        }
        #expect(array == Array(0..<1_000))
    }

    @Test("an error of a task's change gives the array back")
    func errors() async {
        var array = Array(0..<1_000)
        await #expect(throws: Flaw()) {
            try await Parallel().run(mutating: &array) { p, array throws(Flaw) in
                try p.forEach(mutating: &array) { i, number throws(Flaw) in
                    if i == 500 { throw Flaw() }
                    number = i
                }
            }
        }
        #expect(array == Array(0..<1_000))
    }

    @Test("min and max by orders that throw, until cancelled, and for tasks", arguments: counts)
    func extremes(count: Int) async throws {
        let numbers = scrambled(count)
        @Sendable func less(_ a: Int, _ b: Int) throws(Flaw) -> Bool {
            if a == b && count == 0 { throw Flaw() }
            return a < b
        }
        func here() throws {
            #expect(try Parallel().min(numbers, by: less) == numbers.min())
            #expect(try Parallel().max(numbers, by: less) == numbers.max())
            #expect(try Parallel(token: CancellationToken()).min(numbers) { a, b throws in a < b } == numbers.min())
            #expect(try Parallel(token: CancellationToken()).max(numbers) { a, b throws in a < b } == numbers.max())
            if count > 1 {
                #expect(throws: Flaw()) {
                    _ = try Parallel().min(numbers) { _, _ throws(Flaw) in throw Flaw() }
                }
                #expect(throws: Flaw()) {
                    _ = try Parallel().max(numbers) { _, _ throws(Flaw) in throw Flaw() }
                }
            }
        }
        try here()
        #expect(await Parallel().run { p in p.min(numbers) } == numbers.min())
        #expect(await Parallel().run { p in p.max(numbers, by: <) } == numbers.max())
    }

    @Test("a span is split on a scheduler of one's choice")
    func splitting() {
        let scheduler = makeScheduler(workers: 2)
        var array = Array(0..<100)
        var span = array.mutableSpan
        let (a, b) = Parallel(on: scheduler).join(splitting: &span, at: 30) { $0.count } _: { $0.count }
        #expect(a == 30)
        #expect(b == 70)
    }

    @Test("on a scheduler that was shut down all of it is done by the caller")
    func shutDown() async throws {
        let scheduler = makeScheduler(workers: 2)
        _ = await scheduler.shutdown(timeout: .seconds(10))
        let done = Counter()
        func here() {
            Parallel(on: scheduler).forEach(0..<1_000) { _ in done.add() }
            _ = Parallel(on: scheduler).join { done.add() } _: { done.add() }
            Parallel(on: scheduler).scope { scope in scope.fork { done.add() } }
            var array = Array((0..<5_000).reversed())
            Parallel(on: scheduler).sort(&array)
            #expect(array == Array(0..<5_000))
        }
        here()
        await Parallel(on: scheduler).run { p in p.forEach(0..<1_000) { _ in _ = done.add() } }
        #expect(done.count == 2_003)
    }
}
