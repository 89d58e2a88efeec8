import Foundation
import Overdrive
import Synchronization
import Testing
import TestSupport

@Suite("Pipelines", .timeLimit(.minutes(10)))
struct PipelineTests {
    @Test("results come in the order of the source, whatever stages take")
    func order() async throws {
        let pipeline = Pipeline(of: Int.self, tokens: 8)
            .parallel("slow") { n in
                if n % 16 == 0 { Thread.sleep(forTimeInterval: 0.001) }
                return n
            }
            .parallel("text") { "\($0)" }
        let expected = (0..<200).map { "\($0)" }
        #expect(try await pipeline.collect(over: 0..<200) == expected)
        #expect(try blocking { try pipeline.collect(over: 0..<200) } == expected)
        #expect(try await pipeline.collect(over: []) == [])
        #expect(try await Pipeline(of: Int.self).run(over: 0..<7) == 7)
    }

    @Test("an ordered stage runs one item at a time, in order, and a serial stage one at a time")
    func serialStages() async throws {
        let (ordered, inside) = (Log<Int>(), Counter())
        let pipeline = Pipeline(of: Int.self, tokens: 5)
            .parallel { $0 * 3 }
            .serial("serial") { n in
                #expect(inside.add() == 1)
                inside.add(-1)
                return n
            }
            .ordered { n in ordered.note(n) }
        #expect(try await pipeline.run(over: 0..<1000) == 1000)
        #expect(ordered.all == (0..<1000).map { $0 * 3 })
    }

    @Test("no more items are on their way than there are tokens")
    func tokens() async throws {
        let (underWay, most, next) = (Counter(), Holder(0), Counter())
        let pipeline = Pipeline(of: Int.self, tokens: 3)
            .parallel { n in
                if n % 3 == 0 { Thread.sleep(forTimeInterval: 0.0005) }
                return n
            }
            .ordered { _ in underWay.add(-1) }
        try await pipeline.run(from: {
            let n = next.add()
            guard n <= 100 else { return nil }
            most.value = max(most.value, underWay.add())
            return n
        })
        #expect(most.value <= 3 && next.count == 101)
    }

    @Test("the first failed item of the source ends the run, after all items before it")
    func failure() async throws {
        let written = Log<Int>()
        let pipeline = Pipeline(of: Int.self, tokens: 16)
            .parallel("parse") { n throws -> Int in
                if n == 40 { Thread.sleep(forTimeInterval: 0.002) }
                if n >= 40 { throw Flaw(number: n) }
                return n
            }
            .ordered("write") { n in written.note(n) }
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: 0...) }
        guard case .failed("parse", 40, let cause) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(cause as? Flaw == Flaw(number: 40))
        #expect(written.all == Array(0..<40))
        #expect("\(try #require(error))" == "Pipeline.run: stage \"parse\" failed for item 40 (\(cause)).")
    }

    @Test("a failure of a later item is no cancel for an earlier one")
    func laterFailure() async throws {
        let (failures, written) = (Counter(), Log<Int>())
        let pipeline = Pipeline(of: Int.self, tokens: 2)
            .parallel("work") { n throws -> Int in
                if n == 1 {
                    failures.add()
                    throw Flaw(number: 1)
                }
                if n == 0, eventually({ failures.count == 1 }) {
                    usleep(5_000)
                    try Cancellation.check()
                }
                return n
            }
            .ordered { n in written.note(n) }
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: 0...) }
        guard case .failed("work", 1, _) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(written.all == [0])
    }

    @Test("an error of a stage that was cancelled is no failure")
    func cancelledStage() async throws {
        let token = CancellationToken()
        let pipeline = Pipeline(of: Int.self, tokens: 2).parallel { n async throws -> Int in
            if n == 3 { token.cancel() }
            do { try await AsyncTask.sleep(for: .seconds(n < 3 ? 0 : 3600)) } catch { throw Flaw(number: n) }
            return n
        }
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: 0..., token: token) }
        guard case .cancelled = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test("an error of the source is thrown after its items")
    func sourceFailure() async throws {
        let (passed, next) = (Counter(), Counter())
        let pipeline = Pipeline(of: Int.self, tokens: 4).ordered { _ in passed.add() }
        let error = await #expect(throws: PipelineError.self) {
            try await pipeline.run(from: {
                let n = next.add() - 1
                if n == 25 { throw Flaw(number: 25) }
                return n
            })
        }
        guard case .failed("source", 25, _) = error else { return #expect(Bool(false)) }
        #expect(passed.count == 25)
    }

    @Test("a cancelled run draws no further item, and its ordered stage has seen a prefix", arguments: [false, true])
    func cancelling(isSuspending: Bool) async throws {
        let (seen, token) = (Log<Int>(), CancellationToken())
        var pipeline = Pipeline(of: Int.self, tokens: 8).ordered("see") { n in
            seen.note(n)
            if n == 50 { token.cancel() }
            return n
        }
        if isSuspending {
            pipeline = pipeline.parallel("wait") { n async throws -> Int in
                if n >= 45 { try await AsyncTask.sleep(for: .seconds(3600)) }
                return n
            }
        }
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: 0..., token: token) }
        guard case .cancelled(let finished) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(seen.all == Array(0...50) && finished <= 51)
        // The calling task's cancellation.
        let task = AsyncTask { try await Pipeline(of: Int.self).run(over: 0...) }
        task.cancel()
        await #expect(throws: PipelineError.self) { try await task.value }
    }

    @Test("an asynchronous sequence is read as tokens come free, and its task ends with the run")
    func asyncSequence() async throws {
        let (stream, input) = AsyncStream.makeStream(of: Int.self)
        let pipeline = Pipeline(of: Int.self, tokens: 4)
            .parallel { n async throws -> Int in
                if n % 7 == 0 { try await AsyncTask.sleep(for: .microseconds(200)) }
                if n == 300 { throw Flaw() }
                return n * 2
            }
            .ordered { n async throws -> Int in n }
        for n in 0..<100 { input.yield(n) }
        input.finish()
        #expect(try await pipeline.run(over: stream) == 100)
        // The stream never ends: the failure does.
        let (endless, more) = AsyncStream.makeStream(of: Int.self)
        for n in 290...310 { more.yield(n) }
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: endless) }
        guard case .failed("stage 0", 10, _) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        // Nor does this one: the cancel does.
        let token = CancellationToken()
        let (silent, never) = AsyncStream.makeStream(of: Int.self)
        async let run = Result { try await pipeline.run(over: silent, token: token) }
        token.cancel()
        guard case .failure = await run else { return #expect(Bool(false)) }
        withExtendedLifetime((more, never)) {}
    }

    @Test("the lines of a file are a source")
    func lines() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("pipeline-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("one\n\ntwo three\nlast".utf8).write(to: URL(fileURLWithPath: path))
        let lines = Log<String>()
        let pipeline = Pipeline(of: String.self, tokens: 2).parallel { $0.uppercased() }.ordered { line in lines.note(line) }
        #expect(try await pipeline.run(linesOf: path) == 4)
        #expect(lines.all == ["ONE", "", "TWO THREE", "LAST"])
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(linesOf: path + "-none") }
        #expect("\(try #require(error))".contains("Pipeline.run(linesOf:): cannot read the file (\(path)-none: "))
    }

    @Test("a run on a scheduler that is shut down ends as cancelled")
    func shutdown() async throws {
        let scheduler = makeScheduler()
        let pipeline = Pipeline(of: Int.self, scheduler: scheduler).parallel { $0 }
        _ = await scheduler.shutdown(timeout: .seconds(10))
        let error = await #expect(throws: PipelineError.self) { try await pipeline.run(over: 0..<10) }
        guard case .cancelled(finished: 0) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        let (stream, input) = AsyncStream.makeStream(of: Int.self)
        input.yield(1)
        let waiting = await Result { try await pipeline.run(over: stream) }
        guard case .failure = waiting else { return #expect(Bool(false)) }
        withExtendedLifetime(input) {}
    }

    @Test("random pipelines behave as a loop over the items")
    func random() async throws {
        let count = ProcessInfo.processInfo.environment["OVERDRIVE_PIPELINES"].flatMap(Int.init) ?? 60
        for seed in 0..<count { try await RandomPipeline(seed: UInt64(seed)).check() }
    }

    private func blocking<T>(_ body: () throws -> T) rethrows -> T { try body() }
}

extension Result where Failure == any Error {
    /// Catches what an asynchronous body throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// A pipeline of random stages over random items, one of which may fail or cancel the run, and what a loop would do.
private struct RandomPipeline {
    /// An item that counts how many there are.
    final class Item: Sendable {
        static let alive = Atomic(0)
        let number: Int
        init(_ number: Int) {
            self.number = number
            Item.alive.add(1, ordering: .relaxed)
        }
        deinit { Item.alive.subtract(1, ordering: .relaxed) }
    }

    final class Stage: Sendable {
        let mode: Int
        let isSuspending: Bool
        let failing: Set<Int>
        let cancelling: Int
        /// The items for which the stage has run, in order.
        let seen = Log<Int>()
        let inside = Counter()
        init(mode: Int, isSuspending: Bool, failing: Set<Int>, cancelling: Int) {
            (self.mode, self.isSuspending, self.failing, self.cancelling) = (mode, isSuspending, failing, cancelling)
        }

        func run(_ item: Item, _ token: CancellationToken) throws -> Item {
            let count = inside.add()
            defer { inside.add(-1) }
            if mode > 0 { #expect(count == 1, "2 items at a time in a stage that takes one") }
            seen.note(item.number)
            if item.number == cancelling { token.cancel() }
            if failing.contains(item.number) { throw Flaw(number: item.number) }
            return Item(item.number)
        }
    }

    let seed: UInt64
    let items: Int
    let tokens: Int
    let source: Int
    let stages: [Stage]

    init(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        self.seed = seed
        let items = next(400)
        self.items = items
        tokens = 1 + next(next(2) == 0 ? 4 : 40)
        source = next(3)
        let ending = next(3)
        stages = (0..<1 + next(5)).map { _ in
            Stage(
                mode: next(3), isSuspending: next(6) == 0,
                failing: ending == 1 && next(2) == 0 ? Set((0..<3).map { _ in next(items + 1) }) : [],
                cancelling: ending == 2 && next(2) == 0 ? next(items + 1) : -1)
        }
    }

    private func result(_ token: CancellationToken) async -> Result<Int, PipelineError> {
        var pipeline = Pipeline(of: Item.self, tokens: tokens)
        for stage in stages {
            let direct = { @Sendable (item: Item) throws -> Item in try stage.run(item, token) }
            let suspending = { @Sendable (item: Item) async throws -> Item in
                await AsyncTask.yield()
                return try stage.run(item, token)
            }
            pipeline = switch (stage.mode, stage.isSuspending) {
            case (0, false): pipeline.parallel("", direct)
            case (0, true): pipeline.parallel("", suspending)
            case (1, false): pipeline.ordered("", direct)
            case (1, true): pipeline.ordered("", suspending)
            case (_, false): pipeline.serial("", direct)
            case (_, true): pipeline.serial("", suspending)
            }
        }
        do throws(PipelineError) {
            switch source {
            case 0: return .success(try await pipeline.run(over: (0..<items).lazy.map { Item($0) }, token: token))
            case 1: return .success(try Self.blocking(pipeline, items, token))
            default:
                let (stream, input) = AsyncStream.makeStream(of: Item.self)
                for n in 0..<items { input.yield(Item(n)) }
                input.finish()
                return .success(try await pipeline.run(over: stream, token: token))
            }
        } catch {
            return .failure(error)
        }
    }

    private static func blocking(_ pipeline: Pipeline<Item, Item>, _ items: Int, _ token: CancellationToken) throws(PipelineError) -> Int {
        try pipeline.run(over: (0..<items).lazy.map { Item($0) }, token: token)
    }

    func check() async throws {
        let token = CancellationToken()
        let result = await result(token)
        // A loop's failure: the first item that some stage fails, at the first such stage.
        let failing = (0..<items).lazy.compactMap { n in stages.firstIndex { $0.failing.contains(n) }.map { (item: n, stage: $0) } }.first
        let comment = Comment(rawValue: "seed \(seed): \(result)")
        switch result {
        case .success(let count):
            #expect(count == items && failing == nil, comment)
        case .failure(.failed(let name, let item, _)):
            #expect(failing.map { $0.item == item && "stage \($0.stage)" == name } == true, comment)
        case .failure(.cancelled(let finished)):
            #expect(token.isCancelled && finished <= items, comment)
        }
        for (number, stage) in stages.enumerated() {
            let seen = stage.seen.all
            #expect(Set(seen).count == seen.count, comment)
            if stage.mode == 1 { #expect(seen == Array(0..<seen.count), comment) }
            if case .success = result { #expect(seen.count == items, comment) }
            guard let failing, case .failure(.failed) = result else { continue }
            // All items before the failed one have passed; behind the failure an ordered stage has run for no later one.
            #expect(Set(0..<failing.item).isSubset(of: seen), comment)
            if stage.mode == 1, number >= failing.stage { #expect(seen.count == failing.item + (number == failing.stage ? 1 : 0), comment) }
        }
        // The stream goes with the last reference to its task, a moment after the run.
        for _ in 0..<2000 where Item.alive.load(ordering: .relaxed) > 0 { try await AsyncTask.sleep(for: .milliseconds(1)) }
        #expect(Item.alive.load(ordering: .relaxed) == 0, comment)
    }
}
