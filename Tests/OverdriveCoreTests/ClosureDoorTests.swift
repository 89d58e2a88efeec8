import OverdriveCore
import Testing

/// What `ClosureDoor.swift` assumes about closures, and what must follow from it: each closure's captures
/// arrive whole, and are released exactly once, whatever the closure was made of.
@Suite("The closure door")
struct ClosureDoorTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    // MARK: - Layout

    /// A closure in memory, at its own abstraction: a generic `unsafeBitCast` would wrap it in a thunk.
    private struct Words {
        let closure: () -> Void

        var all: (code: UInt, context: UInt) {
            withUnsafeBytes(of: self) { ($0.load(as: UInt.self), $0.load(fromByteOffset: 8, as: UInt.self)) }
        }
    }

    @Test("A closure is two words, of which the second is aligned like the first")
    func closureIsTwoWords() {
        #expect(MemoryLayout<() -> Void>.size == 16)
        #expect(MemoryLayout<() -> Void>.stride == 16)
        #expect(MemoryLayout<() -> Void>.alignment == 8)
        #expect(MemoryLayout<Words>.size == 16)
    }

    @Test("A closure without captures has no context, one with captures has")
    func contextIsNilWithoutCaptures() {
        let object = Census()
        let bare = Words { _ = Int.random(in: 0...1) }
        let capturing = Words { _ = object.alive }
        #expect(bare.all.context == 0)
        #expect(bare.all.code != 0)
        #expect(capturing.all.context != 0)
    }

    @Test("Code addresses fit into the 48 bits that a queue entry has for them")
    func codeFits() {
        let object = Census()
        for words in [Words {}, Words { _ = object.alive }] {
            #expect(words.all.code >> 48 == 0)
        }
    }

    // MARK: - Captures

    @Test("A closure without captures runs")
    func noCaptures() {
        let group = WaitGroup()
        for _ in 0..<1_000 { queue.async(group: group) { ranWithoutCaptures.add() } }
        group.wait()
        #expect(ranWithoutCaptures.count == 1_000)
    }

    @Test("One captured word arrives")
    func oneWord() {
        let sum = Counter()
        let group = WaitGroup()
        for number in 1...1_000 { queue.async(group: group) { sum.add(number) } }
        group.wait()
        #expect(sum.count == 500_500)
    }

    @Test("Many captured words of all sizes arrive")
    func manyWords() {
        let wrong = Counter()
        let group = WaitGroup()
        for number in 0..<200 {
            let byte = UInt8(truncatingIfNeeded: number)
            let wide = (UInt64(number), Double(number), Float(number), Int16(number))
            let text = "number \(number), too long to be stored in place"
            let array = Array(repeating: number, count: number % 7)
            let optional: Int? = number.isMultiple(of: 2) ? number : nil
            queue.async(group: group) {
                let isRight =
                    byte == UInt8(truncatingIfNeeded: number) && wide.0 == UInt64(number)
                    && wide.1 == Double(number) && wide.2 == Float(number) && wide.3 == Int16(number)
                    && text.hasPrefix("number \(number),") && array.count == number % 7
                    && array.allSatisfy { $0 == number }
                    && optional == (number.isMultiple(of: 2) ? number : nil)
                if !isRight { wrong.add() }
            }
        }
        group.wait()
        #expect(wrong.count == 0)
    }

    @Test("Several captured objects are released once each")
    func objects() {
        let census = Census()
        let group = WaitGroup()
        for _ in 0..<100 {
            let (a, b, c) = (census.newborn(), census.newborn(), census.newborn())
            let list = [census.newborn(), census.newborn()]
            queue.async(group: group) {
                a.touch()
                withExtendedLifetime((b, c, list)) {}
            }
        }
        group.wait()
        #expect(census.alive == 0)
        #expect(census.died == 500)
    }

    @Test("A weak capture stays weak, an unowned one is not retained")
    func weakCapture() {
        let group = WaitGroup()
        let gate = Gate()
        let survivors = Counter()
        let census = Census()
        queue.async(group: group) { gate.pass() }
        queue.async(group: group) { gate.pass() }
        do {
            let mortal = census.newborn()
            queue.async(group: group) { [weak mortal] in
                if mortal != nil { survivors.add() }
            }
        }
        #expect(census.alive == 0)
        gate.open()
        group.wait()
        #expect(survivors.count == 0)
    }

    @Test("What the closure wrote is visible to who waited for it")
    func writtenThrough() {
        let group = WaitGroup()
        for round in 0..<200 {
            let box = Holder(0)
            queue.async(group: group) { box.value = round }
            group.wait()
            #expect(box.value == round)
        }
    }

    // MARK: - Where closures come from

    /// A way to make closures that hold an object: submits one or more, which run so often.
    private struct Make: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let runs: Int
        let submit: @Sendable (TaskQueue, WaitGroup, Tracked, Counter) -> Void

        init(_ name: String, runs: Int, _ submit: @escaping @Sendable (TaskQueue, WaitGroup, Tracked, Counter) -> Void) {
            (testDescription, self.runs, self.submit) = (name, runs, submit)
        }
    }

    private static let makes = [
        Make("a captured object", runs: 1) { queue, group, tracked, runs in
            queue.async(group: group) {
                tracked.touch()
                runs.add()
            }
        },
        Make("an object that the closure consumes", runs: 1) { queue, group, tracked, runs in
            let own = tracked
            queue.async(group: group) {
                let moved = consume own
                moved.touch()
                runs.add()
            }
        },
        Make("a captured value that does not copy", runs: 1) { queue, group, tracked, runs in
            let holder = UniqueHolder(Unique(tracked: tracked))
            queue.async(group: group) {
                holder.touch()
                runs.add()
            }
        },
        Make("existential captures", runs: 10) { queue, group, tracked, runs in
            let any: any Sendable = tracked
            let large: any Shape = Wide(tracked: tracked, 1, 2, 3, 4)
            let error: any Error = Trouble(tracked: tracked)
            queue.async(group: group) {
                if any is Tracked, error is Trouble { runs.add(large.sum) }
            }
        },
        Make("one that a generic type has stored, which comes through its thunk", runs: 4) { queue, group, tracked, runs in
            let body: @Sendable () -> Void = {
                tracked.touch()
                runs.add()
            }
            let listed: [@Sendable () -> Void] = [body]
            let optional: (@Sendable () -> Void)? = body
            let returned: @Sendable () -> Void = same(body)
            queue.async(group: group, execute: returned)
            queue.async(group: group, execute: listed[0])
            if let optional { queue.async(group: group, execute: optional) }
            queue.async(group: group) { applied(body, to: ()) }
        },
        Make("a method of an object", runs: 3) { queue, group, tracked, runs in
            let worker = Worker(runs: runs, tracked: tracked)
            queue.async(group: group, execute: worker.work)
            queue.async(group: group, execute: Worker.twice(worker))
        },
        Make("a method of a value, which holds a copy", runs: 1) { queue, group, tracked, runs in
            queue.async(group: group, execute: ValueWorker(runs: runs, tracked: tracked, padding: (1, 2, 3)).work)
        },
        Make("a protocol's method through an existential", runs: 1) { queue, group, tracked, runs in
            let working: any Working = Worker(runs: runs, tracked: tracked)
            queue.async(group: group, execute: working.work)
        },
        Make("one that is made of closures", runs: 3) { queue, group, tracked, runs in
            let inner: @Sendable () -> Void = {
                tracked.touch()
                runs.add()
            }
            let middle: @Sendable () -> Void = {
                inner()
                inner()
            }
            queue.async(group: group) {
                middle()
                inner()
            }
        },
        Make("one that submits itself again", runs: 21) { queue, group, tracked, runs in
            @Sendable func again(_ left: Int) {
                queue.async(group: group) {
                    tracked.touch()
                    runs.add()
                    if left > 0 { again(left - 1) }
                }
            }
            again(20)
        },
        Make("one that is submitted twice", runs: 2) { queue, group, tracked, runs in
            let body: @Sendable () -> Void = {
                tracked.touch()
                runs.add()
            }
            queue.async(group: group, execute: body)
            queue.async(group: group, execute: body)
        },
    ]

    @Test("What a closure holds is released once, before its group is empty, whatever the closure was made of", arguments: makes)
    private func releases(make: Make) {
        let (census, group, runs) = (Census(), WaitGroup(), Counter())
        for _ in 0..<100 { make.submit(queue, group, census.newborn(), runs) }
        group.wait()
        #expect(runs.count == 100 * make.runs)
        #expect(census.alive == 0)
        #expect(census.died == 100)
    }

    @Test("Closures from generic code capture their values, however these are stored")
    func genericCaptures() {
        let matches = Counter()
        func submit<T: Sendable & Equatable>(_ value: T, is other: T, _ group: WaitGroup) {
            queue.async(group: group) {
                if value == other { matches.add() }
            }
        }
        let group = WaitGroup()
        submit(1, is: 1, group)
        submit("a string that is not stored in place", is: "a string that is not stored in place", group)
        submit([1.5, 2.5], is: [1.5, 2.5], group)
        submit(Optional<Int8>.none, is: nil, group)
        submit(Wide.Plain(a: 1, b: 2, c: 3, d: 4, e: 5), is: .init(a: 1, b: 2, c: 3, d: 4, e: 5), group)
        group.wait()
        #expect(matches.count == 5)
    }

    @Test("Global, nested and C functions run like closures")
    func functions() {
        let group = WaitGroup()
        let before = ranGlobally.count
        let runs = Counter()
        @Sendable func nested() { runs.add() }
        let plain: @convention(c) () -> Void = { ranGlobally.add() }
        queue.async(group: group, execute: runGlobally)
        queue.async(group: group, execute: nested)
        queue.async(group: group, execute: plain)
        group.wait()
        #expect(ranGlobally.count - before == 2)
        #expect(runs.count == 1)
    }

    @Test("Closures around throwing and returning ones run")
    func adapted() {
        let runs = Counter()
        let throwing: @Sendable () throws -> Int = { runs.add() }
        let group = WaitGroup()
        queue.async(group: group) { _ = try? throwing() }
        queue.async(group: group) { do { _ = try throwing() } catch {} }
        group.wait()
        #expect(runs.count == 2)
    }

    // MARK: - Every way out

    @Test("Cancelled closures release their captures and do not run", arguments: [1, TaskQueue.unlimited])
    func discarded(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let census = Census()
        let runs = Counter()
        queue.suspend()
        for _ in 0..<100 {
            let tracked = census.newborn()
            queue.async {
                tracked.touch()
                runs.add()
            }
        }
        #expect(census.alive == 100)
        #expect(queue.cancelAll() == 100)
        queue.resume()
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 0)
        #expect(census.died == 100)
        #expect(census.alive == 0)
    }

    @Test("Closures that a stopped scheduler discards release their captures before the call returns")
    func afterShutdown() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        scheduler.shutdown(timeout: .seconds(10))
        let census = Census()
        for number in 1...100 {
            let tracked = census.newborn()
            queue.async { tracked.touch() }
            #expect(census.died == number - 1 || census.died == number)
        }
        #expect(census.alive == 0)
    }

    @Test("Every kind of queue releases what its closures captured", arguments: [1, 2, TaskQueue.unlimited])
    func everyQueue(width: Int) {
        let queue = TaskQueue(maxConcurrentTaskCount: width, scheduler: makeScheduler())
        let census = Census()
        let group = WaitGroup()
        onThreads(4) { _ in
            for _ in 0..<200 {
                let tracked = census.newborn()
                queue.async(group: group) {
                    queue.async(group: group) { tracked.touch() }
                }
            }
        }
        group.wait()
        #expect(census.died == 800)
        #expect(census.alive == 0)
    }
}

// MARK: - Material

private let ranWithoutCaptures = Counter()
private let ranGlobally = Counter()

private func runGlobally() {
    ranGlobally.add()
}

private func same<T>(_ value: T) -> T {
    value
}

private func applied<In, Out>(_ function: (In) -> Out, to value: In) -> Out {
    function(value)
}

private struct Unique: ~Copyable, Sendable {
    let tracked: Tracked

    deinit {
        tracked.touch()
    }
}

private final class UniqueHolder: Sendable {
    private let unique: Unique

    init(_ unique: consuming Unique) {
        self.unique = unique
    }

    func touch() {
        unique.tracked.touch()
    }
}

private protocol Shape: Sendable {
    var sum: Int { get }
}

private struct Wide: Shape {
    struct Plain: Equatable, Sendable {
        let a, b, c, d, e: Int
    }

    let tracked: Tracked
    let a, b, c, d: Int

    init(tracked: Tracked, _ a: Int, _ b: Int, _ c: Int, _ d: Int) {
        self.tracked = tracked
        (self.a, self.b, self.c, self.d) = (a, b, c, d)
    }

    var sum: Int { a + b + c + d }
}

private struct Trouble: Error {
    let tracked: Tracked
}

private protocol Working: Sendable {
    func work()
}

private final class Worker: Working {
    private let runs: Counter
    private let tracked: Tracked

    init(runs: Counter, tracked: Tracked) {
        self.runs = runs
        self.tracked = tracked
    }

    func work() {
        runs.add()
    }

    func twice() {
        work()
        work()
    }
}

private struct ValueWorker: Sendable {
    let runs: Counter
    let tracked: Tracked
    let padding: (Int, Int, Int)

    func work() {
        if padding == (1, 2, 3) { runs.add() }
    }
}
