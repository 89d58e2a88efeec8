/// A discrete-event model of the scheduler's policy.
///
/// Each worker has a stack of forks. It runs a piece by forking the second child of every division and going on
/// with the first, until nothing is to divide; then it takes its newest fork back. Thieves take the oldest. A join
/// whose fork was taken waits; meanwhile it runs what its thief has forked (leapfrogging), or anybody's work. Workers
/// that search in vain for long enough park, and are woken as the policy says.
///
/// What it assumes and what is not in it: ``assumptions``.
public struct Simulator {
    public static let assumptions = [
        "Not in the model: caches, memory bandwidth, the kernel's scheduler, other processes.",
        "Measured: a fork and its join (fib, one worker), a wake (half of a parked round trip), a submission from outside. Assumed, as "
            + "two CPUs cannot show it: what asking and stealing cost across nodes (attempt, look, steal, by distance: the same node, "
            + "the next one in a ring of nodes, farther), for how long a victim is occupied by one thief, what a wake costs who gives it.",
        "A worker out of work looks at everybody in a row, and steals the oldest fork of the first that has one. Between rows it pauses, "
            + "twice as long each time. Looks of a row do not wait for each other (a look is a tenth of an attempt); sixteen of them see one "
            + "moment.",
        "Work divides as the job's shape says, at no cost but the fork's. Loops are halves down to single leaves; the engine's loops take "
            + "parts from one count instead, and fork helpers.",
        "Every fork can be stolen at once; the engine's owners expose theirs when they are asked, which is in the cost of a steal.",
        "The flood has one submitter and one injector, from which workers take batches of 32 that nobody steals; so its speed-up ends "
            + "where the submitter's does, and policies differ by their wakes alone.",
        "Nodes are a ring, of the same number of workers each; all workers but the first sleep when the job begins.",
    ]

    /// A fork on a worker's stack, or the floor below a stolen piece.
    private struct Frame {
        enum State {
            case offered
            case taken(by: Int)
            case done
            /// The piece above it was this fork of the victim's.
            case floor(victim: Int, frame: Int)
        }

        var piece: Piece
        var state: State
    }

    private enum Phase {
        case parked
        case waking(since: Double)
        case searching(since: Double, woken: Double?)
        case running
        /// Waits for the top of its stack.
        case joining
    }

    private struct Worker {
        var stack: [Frame] = []
        /// Where the oldest fork on offer may be.
        var oldest = 0
        var phase = Phase.parked
        /// What runs now.
        var occupiedUntil = 0.0
        var victims: [Int] = []
        var nextVictim = 0
        /// Where a row of looks began.
        var sweepFrom = 0
        var pause = 0.0
        /// Closures that it has claimed from the injector.
        var batch = 0
    }

    private let machine: Machine
    private let costs: Costs
    private let policy: Policy
    private let job: Job
    private var workers: [Worker]
    private var events = EventQueue()
    private var random: Random
    private var outcome = Outcome()
    private var latencies = (sum: 0.0, count: 0)
    private var searching = 0
    private var parked: [Int] = []
    /// Where each node has its own word of who sleeps and who searches: the searcher, or who was woken to be it.
    private var tokens: [Int?]
    private var finished = false
    /// Closures submitted and not claimed, and how many are still to come; submitter is worker -1.
    private var injected = 0, toSubmit = 0, toRun = 0

    public init(_ job: Job, on machine: Machine, policy: Policy, costs: Costs, seed: UInt64 = 1) {
        (self.job, self.machine, self.policy, self.costs) = (job, machine, policy, costs)
        random = Random(state: seed)
        workers = Array(repeating: Worker(), count: machine.workers)
        // Nearest first, beginning with the next one on the own node.
        for index in workers.indices where machine.workers > 1 {
            workers[index].victims = (1..<machine.workers).map { (index + $0) % machine.workers }
                .enumerated().sorted { (machine.distance(index, $0.element), $0.offset) < (machine.distance(index, $1.element), $1.offset) }
                .map(\.element)
        }
        // The last is woken first, so that worker 0's neighbours come first.
        parked = Array((0..<machine.workers).reversed())
        tokens = Array(repeating: nil, count: machine.nodes)
    }

    /// Runs the job once, beginning with everybody parked but who has it.
    public mutating func run() -> Outcome {
        outcome.work = job.work(costs)
        if case .flood(let closures, _) = job {
            (toSubmit, toRun) = (closures, closures)
            events.plan(-1, at: 0)
        } else {
            parked.removeLast()
            workers[0].phase = .running
            begin(job.root, on: 0, at: 0)
        }
        while !finished, let (time, worker) = events.next() {
            outcome.nanoseconds = max(outcome.nanoseconds, time)
            if worker < 0 { submit(at: time) } else { step(worker, at: time) }
        }
        outcome.wakeLatency = latencies.count > 0 ? latencies.sum / Double(latencies.count) : 0
        return outcome
    }

    // MARK: A worker's phases

    private mutating func step(_ worker: Int, at time: Double) {
        switch workers[worker].phase {
        case .parked: break
        case .waking(let since):
            beginSearch(worker, at: time, woken: since)
        case .searching: search(worker, at: time)
        case .running: unwind(worker, at: time)
        case .joining: join(worker, at: time)
        }
    }

    /// Forks down the piece's first children, and plans the end of what is left.
    private mutating func begin(_ piece: Piece, on worker: Int, at time: Double) {
        var (piece, time) = (piece, time)
        workers[worker].oldest = min(workers[worker].oldest, workers[worker].stack.count)
        while let (here, forked) = job.children(of: piece) {
            workers[worker].stack.append(Frame(piece: forked, state: .offered))
            time += costs.fork
            piece = here
        }
        time += notice(by: worker, at: time)
        workers[worker].phase = .running
        workers[worker].pause = 0
        events.plan(worker, at: time + job.cost(of: piece, costs))
    }

    /// A piece has ended: the newest fork is next, or somebody waits for what this was.
    private mutating func unwind(_ worker: Int, at time: Double) {
        if workers[worker].batch > 0 { return closureDone(worker, at: time) }
        guard let top = workers[worker].stack.last else {
            finished = true  // only the root has nothing below it
            return
        }
        switch top.state {
        case .offered:
            workers[worker].stack.removeLast()
            begin(top.piece, on: worker, at: time)
        case .done:
            workers[worker].stack.removeLast()
            unwind(worker, at: time)
        case .taken:
            workers[worker].phase = .joining
            join(worker, at: time)
        case .floor(let victim, let frame):
            workers[worker].stack.removeLast()
            workers[worker].oldest = min(workers[worker].oldest, workers[worker].stack.count)
            workers[victim].stack[frame].state = .done
            if workers[worker].stack.isEmpty {
                beginSearch(worker, at: time, woken: nil)
            } else {
                unwind(worker, at: time)
            }
        }
    }

    /// Waits for the thief of the newest fork, and helps it meanwhile.
    private mutating func join(_ worker: Int, at time: Double) {
        guard let top = workers[worker].stack.last, case .taken(let thief) = top.state else { return unwind(worker, at: time) }
        var victim = policy.joins == .anybody ? nextVictim(of: worker) : thief
        if policy.joins == .chain {
            for _ in 0..<16 {
                guard case .joining = workers[victim].phase, case .taken(let next) = workers[victim].stack.last?.state,
                    next != worker else { break }
                victim = next
            }
        }
        if take(from: victim, by: worker, at: time) { return }
        pause(worker, after: costs.attempt[machine.distance(worker, victim)], at: time)
    }

    private mutating func pause(_ worker: Int, after attempt: Double, at time: Double) {
        workers[worker].pause = min(costs.pause, max(attempt, 2 * workers[worker].pause))
        events.plan(worker, at: time + workers[worker].pause)
    }

    private mutating func beginSearch(_ worker: Int, at time: Double, woken: Double?) {
        searching += 1
        let node = machine.node(of: worker)
        if policy.waking == .token, tokens[node] == nil { tokens[node] = worker }
        workers[worker].phase = .searching(since: time, woken: woken)
        workers[worker].nextVictim = 0
        search(worker, at: time)
    }

    private mutating func endSearch(_ worker: Int) {
        searching -= 1
        let node = machine.node(of: worker)
        if tokens[node] == worker { tokens[node] = nil }
    }

    /// Whether a worker goes on searching that has found nothing.
    private func mayWaitAwake(_ worker: Int, since: Double, at time: Double) -> Bool {
        time - since < costs.spin && (policy.waking != .token || tokens[machine.node(of: worker)] == worker)
    }

    private mutating func search(_ worker: Int, at time: Double) {
        guard case .searching(let since, let woken) = workers[worker].phase else { return }
        if injected > 0 { return claim(worker, at: time, woken: woken) }
        if machine.workers > 1, !job.isFlood {
            // A part of the row at once: a thousand workers that look are too many events otherwise.
            var spent = 0.0
            for _ in 0..<16 {
                let victim = nextVictim(of: worker)
                if take(from: victim, by: worker, at: time + spent) {
                    found(woken, at: time + spent)
                    endSearch(worker)
                    wakeMore(from: worker, at: time + spent)
                    return
                }
                spent += costs.look[machine.distance(worker, victim)]
                if workers[worker].nextVictim == 0 { break }
            }
            guard workers[worker].nextVictim == 0 else { return events.plan(worker, at: time + spent) }
            outcome.failedSteals += 1
            if mayWaitAwake(worker, since: since, at: time) {
                pause(worker, after: spent, at: time)
                return
            }
        } else if mayWaitAwake(worker, since: since, at: time) {
            pause(worker, after: 100, at: time)
            return
        }
        endSearch(worker)
        workers[worker].pause = 0
        outcome.parks += 1
        workers[worker].phase = .parked
        parked.append(worker)
    }

    private mutating func nextVictim(of worker: Int) -> Int {
        let at = workers[worker].nextVictim
        workers[worker].nextVictim = (at + 1) % (machine.workers - 1)
        if policy.victims == .random {
            let victim = Int.random(in: 0..<machine.workers - 1, using: &random)
            return victim < worker ? victim : victim + 1
        }
        if policy.victims == .sweep {
            if at == 0 { workers[worker].sweepFrom = Int.random(in: 0..<machine.workers, using: &random) }
            // Everybody but the worker itself, in one row.
            let first = workers[worker].sweepFrom == worker ? worker + 1 : workers[worker].sweepFrom
            let own = (worker - first + machine.workers) % machine.workers
            return (first + at + (at >= own ? 1 : 0)) % machine.workers
        }
        if policy.victims == .ranked {
            // Another order within a distance at each sweep, the nearest first.
            if at == 0 { shuffle(worker) }
        }
        return workers[worker].victims[at]
    }

    private mutating func shuffle(_ worker: Int) {
        var first = 0
        while first < workers[worker].victims.count {
            let distance = machine.distance(worker, workers[worker].victims[first])
            var end = first
            while end < workers[worker].victims.count, machine.distance(worker, workers[worker].victims[end]) == distance { end += 1 }
            workers[worker].victims[first..<end].shuffle(using: &random)
            first = end
        }
    }

    /// Takes the oldest fork of the victim's, if there is one.
    private mutating func take(from victim: Int, by worker: Int, at time: Double) -> Bool {
        var at = workers[victim].oldest
        while at < workers[victim].stack.count {
            if case .offered = workers[victim].stack[at].state { break }
            at += 1
        }
        workers[victim].oldest = at
        guard at < workers[victim].stack.count else { return false }
        let piece = workers[victim].stack[at].piece
        workers[victim].stack[at].state = .taken(by: worker)
        workers[victim].oldest = at + 1
        let start = max(time, workers[victim].occupiedUntil)
        workers[victim].occupiedUntil = start + costs.occupied
        workers[worker].stack.append(Frame(piece: piece, state: .floor(victim: victim, frame: at)))
        workers[worker].nextVictim = 0
        outcome.steals += 1
        begin(piece, on: worker, at: start + costs.steal[machine.distance(worker, victim)])
        return true
    }

    // MARK: Sleeping and waking

    /// A worker that forks sees that somebody sleeps and nobody searches. Returns what the wake costs it.
    private mutating func notice(by worker: Int, at time: Double) -> Double {
        guard !parked.isEmpty, workers[worker].oldest < workers[worker].stack.count else { return 0 }
        if policy.waking == .all { return wake(parked.count, at: time) }
        if policy.waking == .token { return wakeNear(machine.node(of: worker), at: time) }
        return searching == 0 ? wake(1, at: time) : 0
    }

    private mutating func wakeMore(from worker: Int, at time: Double) {
        guard policy.waking != .all, !parked.isEmpty else { return }
        if policy.waking == .token {
            _ = wakeNear(machine.node(of: worker), at: time)
            return
        }
        guard policy.waking == .two || searching == 0 else { return }
        _ = wake(policy.waking == .two ? 2 : 1, at: time)
    }

    /// Wakes so many, one after another, and returns what it costs the waker.
    private mutating func wake(_ count: Int, at time: Double) -> Double {
        var cost = 0.0
        for _ in 0..<count {
            guard let worker = parked.popLast() else { break }
            cost += costs.waker
            wake(worker, at: time, after: cost)
        }
        return cost
    }

    private mutating func wake(_ worker: Int, at time: Double, after cost: Double) {
        workers[worker].phase = .waking(since: time)
        outcome.wakes += 1
        events.plan(worker, at: time + cost + costs.wake)
    }

    /// Wakes the first sleeper of the node, or of the nearest one where somebody sleeps, unless somebody of it searches.
    private mutating func wakeNear(_ node: Int, at time: Double) -> Double {
        for other in (0..<machine.nodes).sorted(by: { (machine.apart($0, node), $0) < (machine.apart($1, node), $1) }) {
            if tokens[other] != nil { return 0 }
            guard let at = parked.indices.filter({ machine.node(of: parked[$0]) == other }).min(by: { parked[$0] < parked[$1] })
            else { continue }
            let worker = parked.remove(at: at)
            tokens[other] = worker
            wake(worker, at: time, after: costs.waker)
            return costs.waker
        }
        return 0
    }

    private mutating func found(_ woken: Double?, at time: Double) {
        if let woken { latencies = (latencies.sum + time - woken, latencies.count + 1) }
    }

    // MARK: Floods

    private mutating func submit(at time: Double) {
        let count = min(32, toSubmit)
        toSubmit -= count
        injected += count
        var next = time + costs.submit * Double(count)
        if policy.waking == .all {
            next += wake(parked.count, at: time)
        } else if policy.waking == .token {
            next += wakeNear(0, at: time)
        } else if searching == 0 {
            next += wake(1, at: time)
        }
        if toSubmit > 0 { events.plan(-1, at: next) }
    }

    private mutating func claim(_ worker: Int, at time: Double, woken: Double?) {
        let count = min(32, injected)
        injected -= count
        workers[worker].batch = count
        workers[worker].phase = .running
        endSearch(worker)
        found(woken, at: time)
        if injected > 0 { wakeMore(from: worker, at: time) }
        events.plan(worker, at: time + costs.claim + Double(count) * (costs.run + job.cost(of: Piece(), costs)))
    }

    private mutating func closureDone(_ worker: Int, at time: Double) {
        toRun -= workers[worker].batch
        workers[worker].batch = 0
        if toRun == 0 {
            finished = true
            return
        }
        beginSearch(worker, at: time, woken: nil)
    }
}

extension Job {
    var isFlood: Bool { if case .flood = self { true } else { false } }
}
