import Overdrive
import TestSupport
import Testing

/// Tasks that are made of tasks, and others who listen to what one says on its way.
@Suite("Tasks made of tasks", .timeLimit(.minutes(10)))
struct ChainTests {
    @Test("Who comes while handlers of the outcome are called has the last update before the outcome")
    func comesDuringHandlers() async throws {
        let (made, streams, heard) = (Log<Task<Int>>(), Log<AsyncThrowingStream<Int, any Error>>(), Log<[Int]>())
        let source = Task<Int> { emit in
            emit(.value(7))
            return {}
        }
        source.onCompletion {
            let updates = Log<Int>()
            source.onUpdate { updates.note($0) }
            heard.note(updates.all)
            streams.note(source.updates)
            let derived = [
                source.then { $0 }, source.then { value -> Task<Int> in Task(value: value) },
                source.recover { _ in 0 }, source.switchTo(.background),
            ]
            for task in derived {
                task.start()
                made.note(task)
            }
        }
        source.start()
        #expect(heard.all == [[7]])
        for task in made.all { #expect(try await task.value == 7) }
        #expect(made.all.count == 4)
        #expect(try await all(of: streams.all[0]) == [7])
    }

    @Test("Who stands in the line behind the outcome has the last update before it")
    func standsBehindTheOutcome() async throws {
        let gate = Gate()
        let source = Task<Int> { emit in
            emit(.value(7))
            return {}
        }
        source.onUpdate { _ in
            gate.pass()
        }
        TaskQueue().add(task: source)
        #expect(eventually { gate.arrivals == 1 })
        let (derived, updates) = (source.then { $0 }, source.updates)
        derived.start()
        gate.open()
        #expect(try await derived.value == 7)
        #expect(try await all(of: updates) == [7])
    }

    @Test("Who stands in the line has the outcome while another's handler is at an update")
    func standsBehindAHandler() {
        let (source, emit) = spoken()
        let gate = Gate()
        source.onUpdate { _ in gate.pass() }
        TaskQueue().async { emit(.update(1)) }
        #expect(eventually { gate.arrivals == 1 })
        let derived = source.then { $0 }
        derived.start()
        source.finish(with: .value(3))
        #expect(eventually { derived.result?.value == 3 })
        gate.open()
    }

    /// What a task comes to.
    enum Ending: CaseIterable { case updates, value, cancellation, error }

    @Test("Who recovers from errors passes on all else, with a value or with a task", arguments: Ending.allCases, [false, true])
    func recovers(from ending: Ending, withTask: Bool) {
        let (source, emit) = spoken()
        let recovered =
            withTask
            ? source.recover { error -> Task<Int> in Task(value: error is Flaw ? 0 : 9) } : source.recover { $0 is Flaw ? 0 : 9 }
        let (heard, told) = (Log<Int>(), TaskQueue.serial())
        recovered.onUpdate(on: told) { heard.note($0) }
        recovered.start()
        switch ending {
        case .updates:
            for number in 1...2 { emit(.update(number)) }
            emit(.completion)
        case .value: emit(.value(5))
        case .cancellation: emit(.failure(CancellationError()))
        case .error:
            emit(.update(1))
            emit(.failure(Flaw()))
        }
        let (value, updates): (Int?, [Int]) =
            switch ending {
            case .updates: (2, [1, 2])
            case .value: (5, [5])
            case .cancellation: (nil, [])
            case .error: (0, [1, 0])
            }
        #expect(eventually { recovered.isFinished })
        told.sync {}
        #expect(recovered.result?.value == value && heard.all == updates)
        #expect((recovered.result?.error is CancellationError) == (ending == .cancellation))
    }

    @Test("What a closure cannot make, and what fails that it made, is the failure of what follows", arguments: [false, true], [false, true])
    func failsBeyond(isMade: Bool, recovers: Bool) {
        let make: @Sendable () throws -> Task<Int> = {
            guard isMade else { throw TaskError.noValue }
            return Task(error: TaskError.noValue)
        }
        let next = recovers ? Task<Int>(error: Flaw()).recover { _ in try make() } : Task(value: 1).then { _ in try make() }
        next.start()
        #expect(eventually { next.isFinished })
        #expect({ if case TaskError.noValue? = next.result?.error { true } else { false } }())
    }

    @Test("A pair is there when both values are, whichever comes last, and fails with either error", arguments: [false, true])
    func pairs(firstIsLast: Bool) {
        let (first, second) = (spoken(), spoken(of: String.self))
        let (pair, failing) = (first.0.zip(second.0), [Task<Int> { _ in {} }, Task<Int> { _ in {} }])
        pair.start()
        if firstIsLast { second.1(.value("two")) } else { first.1(.value(1)) }
        #expect(!pair.isFinished)
        if firstIsLast { first.1(.value(1)) } else { second.1(.value("two")) }
        #expect(eventually { pair.isFinished })
        #expect(pair.result?.value?.0 == 1 && pair.result?.value?.1 == "two")
        let failed = failing[0].zip(failing[1])
        failed.start()
        failing[firstIsLast ? 1 : 0].finish(with: .failure(Flaw()))
        #expect(eventually { failed.isFinished && failing.allSatisfy(\.isFinished) })
        #expect(failed.result?.error is Flaw && failing[firstIsLast ? 0 : 1].isCancelled)
    }

    @Test("Of no tasks all have no value, and the first is an error")
    func none() {
        let (all, first) = (Task.all([Task<Int>]()), Task<Int>.race([]))
        all.start()
        first.start()
        #expect(all.result?.value == [])
        #expect({ if case TaskError.nothingToDo? = first.result?.error { true } else { false } }())
    }

    @Test("A task that nobody else holds may go when another follows it, and when what is made of it is cancelled")
    func goesWhenFollowed() {
        let (source, emit) = spoken()
        let census = Census()
        let derived = source.then { _ -> Task<Int> in
            let tracked = census.newborn()
            let inner = Task<Int> { _ in { tracked.touch() } }
            inner.start()
            return inner
        }
        derived.start()
        emit(.update(1))
        emit(.update(2))
        #expect(census.died == 1)
        derived.cancel()
        #expect(derived.result?.error is CancellationError && census.alive == 0)
    }

    @Test("An update that comes while the value of the one before is told is waited for")
    func updateWithinUpdate() async throws {
        let (source, emit) = spoken()
        let gate = Gate()
        emit(.update(1))
        let derived = source.then { number -> Task<Int> in
            if number == 1 { return Task.inline { 10 } }
            return Task.inline {
                gate.pass()
                return 20
            }
        }
        derived.onUpdate { if $0 == 10 { emit(.update(2)) } }
        TaskQueue.serial().add(task: derived)
        #expect(eventually { gate.arrivals == 1 })
        emit(.completion)
        gate.open()
        #expect(try await derived.value == 20)
    }

    @Test("The last of several tasks is waited for, though the one before is over")
    func lastOfSeveral() async throws {
        let ((source, emit), (slow, tell)) = (spoken(), spoken())
        let derived = source.then { $0 == 1 ? Task(value: 10) : slow }
        derived.start()
        emit(.update(1))
        emit(.value(2))
        #expect(!derived.isFinished)
        tell(.value(20))
        #expect(try await derived.value == 20)
    }

    @Test("What nobody listens to any more is not begun", arguments: [.failure(Flaw()), .success(1)] as [Result<Int, Flaw>])
    func nothingIsBegunForNobody(end: Result<Int, Flaw>) {
        let (source, emit) = spoken()
        let (transforms, begun) = (Counter(), Counter())
        let following = source.then { _ -> Task<Int> in
            transforms.add()
            return Task.inline { begun.add() }
        }
        let changed = source.then { _ in transforms.add() }
        let recovered = source.recover { _ -> Task<Int> in
            transforms.add()
            return Task.inline { begun.add() }
        }
        for task in [following, changed, recovered, source.recover { _ in transforms.add() }] {
            task.start()
            task.cancel()
        }
        emit(.update(1))
        source.finish(with: end.mapError { $0 })
        #expect(transforms.count == 0 && begun.count == 0)
    }

    @Test("A task in place of an error is cancelled with what it was made for")
    func recoveryIsCancelled() {
        let other = Task<Int> { _ in {} }
        let recovered = Task<Int>(error: Flaw()).recover { _ -> Task<Int> in other }
        recovered.start()
        #expect(other.isExecuting)
        recovered.cancel()
        #expect(other.isCancelled)
    }

    @Test("What is switched to the main queue comes at once where the main thread brings it")
    @MainActor
    func switchedOnMain() {
        let ((source, emit), seen) = (spoken(), Log<Int>())
        let switched = source.switchTo(.main).onUpdate { seen.note($0) }
        switched.start()
        emit(.value(1))
        #expect(seen.all == [1] && switched.result?.value == 1)
    }

    @Test("The task of the update before is cancelled, whoever holds it, where the chain has begun it")
    func cancelsTheOneBefore() {
        let (source, emit) = spoken()
        let (first, second) = (Task<Int> { _ in {} }, Task<Int> { _ in {} })
        let following = source.then { number -> Task<Int> in number == 1 ? first : second }
        following.start()
        emit(.update(1))
        #expect(first.isExecuting)
        emit(.update(2))
        #expect(first.isCancelled && second.isExecuting)
        for task in [following, source] { task.cancel() }
        #expect(second.isCancelled)
    }

    @Test("A task that a closure returns after it has cancelled the chain is not kept")
    func cancelledWithinTransform() {
        let (source, emit) = spoken()
        let (census, chain) = (Census(), Holder<AnyTask?>(nil))
        let following = source.then { _ -> Task<Int> in
            chain.value?.cancel()
            let tracked = census.newborn()
            return Task.inline {
                tracked.touch()
                return 1
            }
        }
        chain.value = following
        following.start()
        emit(.update(1))
        #expect(following.result?.error is CancellationError && census.died == 1 && source.isExecuting)
        chain.value = nil
        source.cancel()
    }

    @Test("What the task of the update before says is heard no more, though that one goes on")
    func updatesOfTheOneBefore() {
        let (source, emit) = spoken()
        let ((first, sayFirst), (second, saySecond)) = (spoken(), spoken())
        let heard = Log<Int>()
        let following = source.then { number -> Task<Int> in number == 1 ? first : second }
        following.onUpdate { heard.note($0) }
        following.start()
        emit(.update(1))
        sayFirst(.update(10))
        emit(.update(2))
        sayFirst(.update(11))
        saySecond(.update(20))
        #expect(heard.all == [10, 20] && first.isExecuting)
        for task in [following, source, first, second] { task.cancel() }
    }

    @Test("Updates whose queue discards them cancel the task that is switched to it")
    func switchedToWhatDiscards() async {
        let ((source, emit), census) = (spoken(of: Tracked.self), Census())
        let queue = TaskQueue.serial()
        queue.suspend()
        let switched = source.switchTo(queue)
        switched.start()
        for _ in 0..<2 { emit(.update(census.newborn())) }
        #expect(queue.cancelAll() == 1)
        #expect(eventually { census.alive == 1 })  // the last one, which the source has
        queue.resume()
        emit(.value(census.newborn()))
        #expect(await switched.result().error is CancellationError)
        #expect(source.result?.value != nil)
    }

    @Test("Updates whose queue discards them cancel no later attempt than theirs")
    func discardedOfBefore() {
        let ((source, emit), queue) = (spoken(), TaskQueue.serial())
        queue.suspend()
        let switched = source.switchTo(queue).retry(RetryPolicy(attempts: 2, delay: .fixed(.seconds(600))))
        switched.start()
        emit(.update(1))
        #expect(switched.finish(with: .error(Flaw())))
        #expect(queue.cancelAll() == 1 && switched.state == .pending)
        switched.cancel()
        queue.resume()
    }

    @Test("What an update replaces is let go of without a lock, and so is a policy")
    func replaced() {
        final class Frame: Sendable {
            let whenGone: @Sendable () -> Void
            init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
            deinit { whenGone() }
        }
        let (asked, holder) = (Counter(), Holder<Task<Frame>?>(nil))
        let task = Task<Frame> { emit in
            emit(
                .update(
                    Frame {
                        holder.value?.onUpdate { _ in }
                        asked.add()
                    }))
            emit(.update(Frame {}))
            return {}
        }
        holder.value = task
        task.name = "frames"
        let frame = Frame { [weak task] in
            if task?.name == "frames" { asked.add() }
        }
        task.retry(RetryPolicy(attempts: 2) { [frame] _ in
            withExtendedLifetime(frame) {}
            return true
        })
        _ = consume frame
        task.retry(2)
        #expect(asked.count == 1 && task.retryCount == 2)
        task.start()
        #expect(asked.count == 2)
        task.cancel()
        holder.value = nil
    }

    enum End: Codable, Sendable, CaseIterable {
        case dropped, cancelledBefore, cancelled, cancelledInQueue, forgotten
    }

    /// Each overflowed the stack that is not flat.
    @Test("A long chain goes its way and comes to its end on a flat stack", arguments: End.allCases)
    func flat(end: End) async {
        await #expect(processExitsWith: .success) { [end] in
            let emitters = Log<Task<Int>.Emitter>()
            let source = Task<Int> { emit in
                emitters.note(emit)
                return {}
            }
            let outcomes = Log<Int>()
            do {
                var last = source
                for _ in 0..<30_000 { last = last.then { $0 + 1 } }
                if end == .dropped { return }
                last.onCompletion { (outcome: Result<Int, any Error>) in outcomes.note(outcome.value ?? -1) }
                switch end {
                case .cancelledBefore: break
                case .cancelledInQueue: TaskQueue().add(task: last)
                default: last.start()
                }
                if end != .cancelledBefore { precondition(eventually { emitters.all.count == 1 }) }
                switch end {
                case .dropped, .forgotten: break
                case .cancelledBefore, .cancelled, .cancelledInQueue: last.cancel()
                }
            }
            precondition(eventually { outcomes.all == [-1] })
        }
    }

    /// They were started, and cancelled then.
    @Test("What is decided already starts nothing more", arguments: [false, true])
    func decidedAlready(inLine: Bool) {
        let runs = Counter()
        func part() -> Task<Int> {
            Task<Int>.inline {
                runs.add()
                return 0
            }
        }
        let (over, failed) = (Task(value: 1), Task<Int>(error: Flaw()))
        over.start()
        failed.start()
        let parts = (0..<6).map { _ in part() }
        let race = Task.race([parts[0], over, parts[1]])
        let all = Task.all([parts[2], failed, parts[3]])
        let (first, second) = (parts[4].zip(failed), failed.zip(parts[5]))
        let wholes: [AnyTask] = [race, all, first, second]
        let cancelled = Counter()
        for part in parts { part.onCancel { cancelled.add() } }
        // Where a thread is at something already, what it starts comes after that.
        let begun: [AnyTask] =
            inLine ? [race.then { $0 }, all.then { $0 }, first.then { $0.0 }, second.then { $0.0 }] : wholes
        for task in begun { task.start() }
        for whole in wholes { whole.waitUntilFinished() }
        #expect(race.result?.value == 1 && all.result?.error is Flaw)
        #expect(first.result?.error is Flaw && second.result?.error is Flaw)
        // Who waits for one of them waits no longer.
        #expect(eventually { cancelled.count == 6 } && runs.count == 0)
    }

    /// Of two ends at once, the one that came too late had said already that the last update was the outcome.
    @Test("Updates end with the outcome, whoever brings it")
    func endsWithTheOutcome() async throws {
        for round in 0..<2_000 {
            let (task, emit) = spoken()
            let updates = task.updates
            emit(.update(1))
            await withTaskGroup { group in
                group.addTask { if round % 2 == 0 { emit(.completion) } else { emit(.value(2)) } }
                group.addTask { task.finish(with: .value(3)) }
            }
            let seen = try await all(of: updates)
            let outcome = try await task.value
            #expect(seen.last == outcome, "\(seen) and \(outcome)")
        }
    }

    /// A task of so many links.
    private static func chain(of length: Int, from source: Task<Int>) -> Task<Int> {
        var task = source
        for _ in 0..<length { task = task.then { $0 + 1 } }
        return task
    }

    /// On a stack of one mebibyte: what took a frame or two for each link would be over its end.
    private static let long = 4_000

    @Test("A long chain takes a short stack")
    func longChain() throws {
        let results = Log<Int?>()
        let queue = TaskQueue(scheduler: makeScheduler(workers: 1, stackSize: 1 << 20))
        queue.async {
            let progressive = Self.chain(
                of: Self.long,
                from: Task { emit in
                    for number in 1...3 { emit(.update(number)) }
                    emit(.completion)
                    return {}
                })
            let updates = Log<Int>()
            progressive.onUpdate { updates.note($0) }
            progressive.start()
            results.note(progressive.result?.value)
            #expect(updates.all == [1, 2, 3].map { $0 + Self.long })
            let closure = Self.chain(of: Self.long, from: Task.inline { 4 })
            closure.start()
            results.note(closure.result?.value)
            // Nobody starts this one, nor ends that.
            withExtendedLifetime(Self.chain(of: Self.long, from: Task.inline { 6 })) {}
            let stopped = Self.chain(of: Self.long, from: Task { _ in {} })
            stopped.start()
            stopped.cancel()
            results.note(stopped.result?.value)
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(results.all == [3 + Self.long, 4 + Self.long, nil])
    }

    /// A round, and the rest of them.
    private static func rounds(_ left: Int, _ round: @escaping @Sendable () -> Task<Int>) -> Task<Int> {
        round().then { value -> Task<Int> in left == 0 ? Task(value: value) : rounds(left - 1, round) }
    }

    @Test("A loop of tasks that lead to tasks takes a short stack", arguments: [false, true])
    func longLoop(isAsynchronous: Bool) throws {
        let queue = TaskQueue(scheduler: makeScheduler(workers: 1, stackSize: 1 << 20))
        let loop = Self.rounds(Self.long) { isAsynchronous ? Task.async { 7 } : Task.inline { 7 } }
        if isAsynchronous { queue.add(task: loop) } else { queue.async { loop.start() } }
        #expect(try loop.wait() == 7)
    }

    @Test("A composed task that ends before its start ends its parts too", arguments: 0..<6, [true, false])
    func endsBeforeStart(kind: Int, isCancelled: Bool) {
        let (a, b) = (Task.inline { 1 }, Task.inline { 2 })
        let composed: AnyTask =
            switch kind {
            case 0: a.then { $0 }
            case 1: a.zip(b)
            case 2: Task.all([a, b])
            case 3: Task.race([a, b])
            case 4: a.recover { _ in 1 }
            default: a.switchTo(.global())
            }
        if isCancelled {
            composed.cancel()
        } else {
            composed.add(dependency: Task<Int>(error: Flaw()), requiring: .success)
            composed.start()
        }
        composed.waitUntilFinished()
        #expect(eventually { a.isCancelled && a.isFinished })
        if (1...3).contains(kind) { #expect(eventually { b.isCancelled && b.isFinished }) }
    }

    @Test("Derived tasks that have ended are neither kept nor called by the task that they were made of")
    func derivedHaveEnded() {
        final class Captured: Sendable {}
        let (session, emit) = spoken(of: Int.self)
        let calls = Counter()
        let derive: [(Captured) -> AnyTask] = [
            { captured in session.then { value in withExtendedLifetime(captured) { calls.add() + value } } },
            { captured in session.then { value -> Task<Int> in withExtendedLifetime(captured) { Task(value: value) } } },
            { captured in session.recover { _ in withExtendedLifetime(captured) { 1 } } },
            { captured in session.zip(Task<Int> { _ in { withExtendedLifetime(captured) {} } }) },
            { captured in Task.race([session, Task<Int> { _ in { withExtendedLifetime(captured) {} } }]) },
            { captured in session.switchTo(.global()).onValue { _ in withExtendedLifetime(captured) {} } },
        ]
        for (index, make) in derive.enumerated() {
            weak var captured: Captured?
            do {
                let object = Captured()
                captured = object
                let task = make(object)
                task.start()
                task.cancel()
            }
            #expect(eventually { captured == nil }, "\(index)")
        }
        emit(.update(1))
        #expect(calls.count == 0)
        emit(.value(2))
        #expect(session.result?.value == 2)
    }

    @Test("An update of a task that another one has replaced is not handed on after that")
    func superseded() {
        let (source, sourceEmit) = spoken(of: Int.self)
        let (first, firstEmit) = spoken(of: Int.self)
        let (second, secondEmit) = spoken(of: Int.self)
        let (heard, gate) = (Log<Int>(), Gate())
        let task = source.then { value -> Task<Int> in value == 0 ? first : second }
        task.onUpdate { value in
            heard.note(value)
            if value == 1 { gate.pass() }
        }
        task.start()
        sourceEmit(.update(0))
        onThread { firstEmit(.update(1)) }
        #expect(eventually { gate.arrivals == 1 })
        firstEmit(.update(2))
        sourceEmit(.update(1))
        secondEmit(.update(10))
        gate.open()
        #expect(eventually { heard.all == [1, 10] })
        secondEmit(.value(11))
        #expect(eventually { heard.all == [1, 10, 11] })
    }
}
