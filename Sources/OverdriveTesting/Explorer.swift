// Owns the search: the schedules of a strategy, and the repetition of a failed one. `explore` calls it.

internal import OverdriveCore

struct Explorer {
    let site: UInt16
    let iterations: Int
    let seed: UInt64
    let strategy: Strategy
    let workers: Int
    let spareWorkers: Int
    let mostSteps: Int
    let body: (Scheduler, Control) throws -> Void

    /// The sums over all runs of an exploration.
    private struct Sums {
        var digest = Digest()
        var points = 0, count = 0, mostDecisions = 1, mostThreads = 1
        // Each kept run holds its scheduler. One wait for the engine's reclaimer then serves all of them.
        var kept: [ControlledRun] = []

        mutating func measure(_ run: ControlledRun) {
            mostDecisions = max(mostDecisions, run.decisions)
            mostThreads = max(mostThreads, run.threads)
        }

        mutating func add(_ run: ControlledRun) {
            measure(run)
            for step in run.steps { digest.add(step) }
            points += run.stepCount
            count += 1
            kept.append(run)
            if kept.count == 16 { kept = [] }
        }
    }

    func run(_ policy: ControlledRun.Policy, seed: UInt64 = 0, forced: [ControlledRun.Choice] = []) -> ControlledRun {
        var options = ControlledRun.Options()
        options.policy = policy
        options.seed = seed
        options.forced = forced
        options.workers = workers
        options.spareWorkers = spareWorkers
        options.mostSteps = UInt32(clamping: mostSteps)
        options.trapLine = "explore: this schedule traps. Repeat it with OVERDRIVE_REPLAY=\(Replay.start(site: site, decisions: 0))"
        let body = body
        return ControlledRun.run(options) { scheduler in
            do { try body(scheduler, Control()) } catch { ControlledRun.fail("\(error)", file: nil, line: 0) }
        }
    }

    static func fails(_ run: ControlledRun) -> Bool { run.hasFailed || run.isDead || run.callsFromOutside > 0 }

    // MARK: - Strategies

    func explore() throws -> Exploration {
        let first = run(.continues)
        if Explorer.fails(first) { throw failure(first, iteration: 0) }
        if case .exhaustive(let preemptions) = strategy { return try exhaust(first, preemptions) }
        var sums = Sums()
        sums.measure(first)
        for iteration in 1...iterations {
            let run = run(policy(decisions: sums.mostDecisions), seed: seed &+ UInt64(iteration) &* 0x9E37_79B9_7F4A_7C15)
            if Explorer.fails(run) { throw failure(shrunk(run), iteration: iteration) }
            sums.add(run)
        }
        return result(sums, isComplete: false, promise(sums))
    }

    private func policy(decisions: Int) -> ControlledRun.Policy {
        guard case .priorities(let depth) = strategy else { return .random }
        return .priorities(changes: depth - 1, expected: decisions)
    }

    private func promise(_ sums: Sums) -> String {
        guard case .priorities(let depth) = strategy else { return "a random walk promises no bound" }
        return "an iteration finds a bug of depth \(depth) with a probability of at least 1/(\(sums.mostThreads)·\(sums.mostDecisions)^\(depth - 1))"
    }

    private func result(_ sums: Sums, isComplete: Bool, _ promise: String) -> Exploration {
        Exploration(
            iterations: sums.count, points: sums.points, digest: sums.digest.value, isComplete: isComplete, promise: promise)
    }

    private func exhaust(_ first: ControlledRun, _ preemptions: Int) throws -> Exploration {
        var sums = Sums()
        let failed = schedules(after: first, preemptions, most: iterations) { run in
            if Explorer.fails(run) { return true }
            sums.add(run)
            return false
        }
        if case .failed(let run) = failed { throw failure(shrunk(run), iteration: sums.count + 1) }
        let which = "schedules with at most \(preemptions) preemptions at our points"
        guard case .complete = failed else { return result(sums, isComplete: false, "these are not all \(which)") }
        return result(sums, isComplete: true, "these are all \(which)")
    }

    enum Search { case complete, cut, failed(ControlledRun) }

    /// Runs the schedules with few preemptions depth first, until one is the one that is sought.
    ///
    /// The last decision with an untried thread takes that thread; all later decisions are the usual ones.
    func schedules(
        after first: ControlledRun, _ preemptions: Int, most: Int, until isSought: (ControlledRun) -> Bool
    ) -> Search {
        var last = first
        var count = 0
        while let forced = Explorer.next(after: last.steps.filter(\.isDecision), preemptions) {
            if count == most { return .cut }
            last = run(.continues, forced: forced)
            count += 1
            if isSought(last) { return .failed(last) }
            if last.isDead { return .cut }
        }
        return .complete
    }

    private static func next(after decisions: [ControlledRun.Step], _ most: Int) -> [ControlledRun.Choice]? {
        var used = decisions.map { Story.isPreemption($0) ? 1 : 0 }
        for number in decisions.indices.dropFirst() { used[number] += used[number - 1] }
        for number in decisions.indices.reversed() {
            let step = decisions[number]
            let before = number == 0 ? 0 : used[number - 1]
            let order = [step.usual] + (0..<64).filter { step.isReady($0) && $0 != step.usual }
            guard let place = order.firstIndex(of: step.chosen) else { continue }
            for other in order.dropFirst(place + 1) where before + (Story.preempts(step, other) ? 1 : 0) <= most {
                return decisions[..<number].map { .init(decision: $0.decision, thread: $0.chosen) }
                    + [.init(decision: step.decision, thread: other)]
            }
        }
        return nil
    }

    // MARK: - Failures

    private func failure(
        _ run: ControlledRun, iteration: Int, kind: ScheduleFailure.Kind? = nil, _ message: String? = nil
    ) -> ScheduleFailure {
        let steps = run.steps
        let kind = kind ?? Explorer.kind(of: run)
        return ScheduleFailure(
            kind: kind, message: message ?? Explorer.sentence(run), iteration: iteration,
            preemptions: Story.preemptions(in: steps), story: Story.tell(run),
            replay: kind == .stuck || kind == .outside ? "" : Replay(site: site, steps: steps).text)
    }

    static func kind(of run: ControlledRun) -> ScheduleFailure.Kind {
        if run.callsFromOutside > 0, run.end != .stuck { return .outside }
        return switch run.end {
        case .deadlock: .deadlock
        case .livelock: .livelock
        case .stuck: .stuck
        case .left: run.hasFailed ? .failed : .unfinished
        case .over: .failed
        }
    }

    private static func sentence(_ run: ControlledRun) -> String {
        switch kind(of: run) {
        case .outside:
            "calls came from threads outside the run (\(run.callsFromOutside)). Use no threads, Swift tasks or Dispatch closures in the body."
        case .deadlock: run.text.isEmpty ? "every thread waits" : run.text
        case .livelock: "the run has no end within \(run.stepCount) steps. Raise mostSteps if the body needs more."
        case .stuck: run.text + ". Use ControlledMutex and the run's clock, and place scheduling points in long loops."
        case .unfinished: "the body has returned, but threads that it started still wait. Shut down the schedulers that it makes."
        case .failed, .diverged: run.text
        }
    }

    // MARK: - Repeating

    func replay(_ replay: Replay) throws -> Exploration {
        let run = run(.continues, forced: replay.choices)
        if let step = replay.divergence(of: run.steps, missed: run.missed) {
            throw failure(
                run, iteration: 0, kind: .diverged,
                "the run differs from OVERDRIVE_REPLAY from decision \(step) on. Use the same binary and arguments, and set SWIFT_DETERMINISTIC_HASHING=1.")
        }
        if Explorer.fails(run) { throw failure(run, iteration: 0) }
        var sums = Sums()
        sums.add(run)
        return result(sums, isComplete: false, "the schedule of OVERDRIVE_REPLAY does not fail")
    }
}
