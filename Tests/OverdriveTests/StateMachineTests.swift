import Testing

@testable import Overdrive

/// The rules, as a pure function: every state that any sequence of events can reach, and every event in it.
@Suite("The state machine")
struct StateMachineTests {
    static let events: [TaskState.Event] = [
        .add(byProgram: true), .add(byProgram: false), .start, .dependOn, .gainDependent, .condition, .release, .conditionsMet,
        .begin, .leave, .retryDue, .cancel, .discard, .publish, .claimSlot, .fillSlot, .watch, .close(locked: false), .close(locked: true),
        .finish(returning: false), .finish(returning: true), .succeed,
    ] + (0...2).flatMap { [.fail(attempt: $0, returning: false), .fail(attempt: $0, returning: true)] }

    /// A state and what is under way around it: who still owes which event.
    struct World: Hashable {
        var word: UInt64 = 0
        var submissions = 0
        var isEntered = false
        var publications = 0
        var published = 0
        var cancellationsTold = 0
        var retries = 0
        var releases = 0
        var evaluations = 0
        var slot = 0  // 0 nobody, 1 claimed, 2 filled, 3 served
        var state: TaskState { TaskState(word: word) }
    }

    /// Whether an event can come in a world: some are answers to actions.
    static func canCome(_ event: TaskState.Event, in world: World) -> Bool {
        let state = world.state
        switch event {
        case .begin, .discard: return world.submissions > 0
        case .leave, .succeed: return world.isEntered
        case .finish(let returning): return !returning || world.isEntered
        case .fail(let attempt, returning: true): return world.isEntered && attempt == state.attempt
        // Of an earlier one, too: who says so was asked about it while that one was under way.
        case .fail(let attempt, returning: false): return attempt <= state.attempt
        case .publish: return world.publications > world.published
        case .conditionsMet: return world.evaluations > 0
        case .retryDue: return world.retries > 0
        case .release: return world.releases > 0
        case .fillSlot: return world.slot == 1
        case .close: return state.phase == .finished
        case .dependOn: return state.unmet < 2 && world.submissions < 3  // a place that is given up stays behind
        default: return true
        }
    }

    static func world(after event: TaskState.Event, in world: World) -> (World, TaskState.Step) {
        var next = world
        let step = world.state.after(event)
        next.word = step.state.word
        switch event {
        case .begin, .discard: next.submissions -= 1
        case .leave, .finish(returning: true), .fail(_, returning: true): next.isEntered = false
        case .succeed: if !step.actions.isEmpty { next.isEntered = false }
        case .publish: next.published += 1
        case .conditionsMet: next.evaluations -= 1
        case .release: next.releases -= 1
        case .dependOn: if step.actions.contains(.accept) { next.releases += 1 }
        case .retryDue: next.retries -= 1
        case .fillSlot: next.slot = step.actions.contains(.serveLate) ? 3 : 2
        case .claimSlot: if step.actions.contains(.accept) { next.slot = 1 }
        default: break
        }
        if step.actions.contains(.submit) { next.submissions += 1 }
        switch event {
        case .add, .start: if step.actions.contains(.link) { next.releases += 1 }  // the linking itself
        default: break
        }
        if step.actions.contains(.enter) { next.isEntered = true }
        if !step.actions.isDisjoint(with: [.publish, .publishCancelled]) { next.publications += 1 }
        if step.actions.contains(.tellCancelled) { next.cancellationsTold += 1 }
        if step.actions.contains(.retry) { next.retries += 1 }
        if step.actions.contains(.evaluate) { next.evaluations += 1 }
        if step.actions.contains(.serveSlot) { next.slot = 3 }
        return (next, step)
    }

    @Test("keeps its promises in every state that events can reach, in whatever order they come")
    func exploration() {
        var seen: Set<World> = [World()]
        var pending = [World()]
        var transitions = 0
        var faults = 0
        while let world = pending.popLast() {
            for event in Self.events where Self.canCome(event, in: world) {
                // A task of a test is attempted three times at most.
                if case .fail = event, world.state.attempt >= 2 { continue }
                let (next, step) = Self.world(after: event, in: world)
                transitions += 1
                if faults < 5 { faults += Self.check(world, event, next, step) }
                if seen.insert(next).inserted { pending.append(next) }
            }
        }
        #expect(seen.count > 5_000, "\(seen.count) worlds")
        #expect(transitions > 50_000, "\(transitions) transitions")
    }

    /// Reports at most a few of what may be thousands.
    private static func check(_ world: World, _ event: TaskState.Event, _ next: World, _ step: TaskState.Step) -> Int {
        var faults = 0
        func report(_ comment: Comment) {
            Issue.record(comment)
            faults += 1
        }
        let (before, after) = (world.state, step.state)
        let place: Comment = "\(event) in \(before)"
        if next.publications > 1 { report("two outcomes: \(place)") }
        if next.cancellationsTold > 1 { report("cancelled twice: \(place)") }
        if before.phase == .finished, after.phase != .finished { report("finished for ever: \(place)") }
        if before.isSettled, !after.isSettled { report("settled for ever: \(place)") }
        if before.isCancelled, !after.isCancelled { report("cancelled for ever: \(place)") }
        if before.isClosed, !after.isClosed { report("closed for ever: \(place)") }
        if step.actions.contains(.enter), world.isEntered || before.isSettled {
            report("a body inside a body, or after the end: \(place)")
        }
        if step.actions.contains(.submit), before.isSettled { report("submitted after the end: \(place)") }
        if step.actions.contains(.retry), before.isCancelled || before.isSettled || next.isEntered && after.isInBody {
            report("a retry after a cancel, after the end or inside of the attempt: \(place)")
        }
        if step.actions.contains(.publish), before.isCancelled { report("a cancelled task's result: \(place)") }
        if after.phase == .finished, next.publications != 1 || next.published != 1 {
            report("finished without an outcome: \(place)")
        }
        if Int(after.unmet) != next.releases { report("what is waited for is not what will come: \(place)") }
        if after.isInBody != next.isEntered { report("nobody knows who is in the body: \(place)") }
        if after.phase == .ready, !after.isSettled, next.submissions == 0 { report("ready and on no queue: \(place)") }
        if step.actions.contains(.dropBody), next.isEntered { report("the body is dropped from under it: \(place)") }
        if case .cancel = event, step.actions.contains(.accept), !next.isEntered, !after.isSettled {
            report("cancelled, and nobody will say so: \(place)")
        }
        if case .discard = event, before.phase >= .executing, !step.actions.isEmpty {
            report("a place that was given up cancels what has begun from another: \(place)")
        }
        if case .fail(let attempt, _) = event, attempt != before.attempt, !step.actions.isEmpty {
            report("an attempt ends by a failure of the one before: \(place)")
        }
        return faults
    }

    @Test("stops nowhere: from every state a task that was added reaches its end by what is owed to it")
    func liveness() {
        var seen: Set<World> = [World()]
        var pending = [World()]
        while let world = pending.popLast() {
            var next = world
            // Bring about what is owed, a bounded number of times.
            for _ in 0..<64 where next.state.phase != .initialized && next.state.phase != .finished {
                let owed: TaskState.Event? =
                    if next.publications > next.published { .publish }
                    else if next.isEntered { .finish(returning: true) }
                    else if next.releases > 0 { .release }
                    else if next.retries > 0 { .retryDue }
                    else if next.evaluations > 0 { .conditionsMet }
                    else if next.state.phase == .executing { .finish(returning: false) }
                    else if next.submissions > 0 { .begin }
                    else { nil }
                guard let owed else { break }
                next = Self.world(after: owed, in: next).0
            }
            if next.state.phase != .initialized, next.state.phase != .finished {
                Issue.record("stuck: \(world.state) ends as \(next.state)")
                return
            }
            for event in Self.events where Self.canCome(event, in: world) {
                if case .fail = event, world.state.attempt >= 2 { continue }
                let after = Self.world(after: event, in: world).0
                if seen.insert(after).inserted { pending.append(after) }
            }
        }
    }

    @Test("takes the plain way with one submission and one outcome")
    func plainWay() {
        var state = TaskState()
        func take(_ event: TaskState.Event) -> TaskState.Actions {
            let step = state.after(event)
            state = step.state
            return step.actions
        }
        #expect(take(.add(byProgram: true)) == [.accept, .submit])
        #expect(state.phase == .ready)
        #expect(take(.begin) == [.accept, .enter])
        #expect(state.phase == .executing)
        #expect(take(.finish(returning: true)) == [.accept, .publish])
        #expect(take(.publish) == [.accept, .dropBody])
        #expect(state.phase == .finished && state.isClosed)
        #expect(take(.finish(returning: false)) == [])
        #expect(take(.cancel) == [])
    }

    @Test("keeps its fields apart")
    func fields() {
        var state = TaskState()
        state.attempt = 0xabcd
        state.unmet = 0x1234_5678
        state.phase = .executing
        state.isEvaluating = true
        #expect(state.attempt == 0xabcd)
        #expect(state.unmet == 0x1234_5678)
        #expect(state.phase == .executing)
        #expect(state.isEvaluating && !state.hasDependents)
        state.unmet = 0
        state.attempt = 1
        #expect(state.word == 0x0000_0000_0001_8003)
    }
}
