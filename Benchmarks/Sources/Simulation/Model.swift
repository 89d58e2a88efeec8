/// A machine of nodes with the same number of workers each.
public struct Machine: Sendable {
    public let workers, nodes: Int

    public init(workers: Int, nodes: Int) {
        (self.workers, self.nodes) = (workers, max(1, min(nodes, workers)))
    }

    func node(of worker: Int) -> Int { worker * nodes / workers }

    /// 0 on the same node, 1 to a neighbour in the ring of nodes, 2 farther.
    func distance(_ a: Int, _ b: Int) -> Int { min(2, apart(node(of: a), node(of: b))) }

    /// How far apart two nodes of the ring are.
    func apart(_ a: Int, _ b: Int) -> Int { min(abs(a - b), nodes - abs(a - b)) }
}

/// What things take, in nanoseconds. The defaults were measured with the suite on two CPUs, or are assumptions
/// where they say so.
public struct Costs: Codable, Sendable, Equatable {
    /// A fork and its join that nobody took.
    public var fork = 3.5
    /// Asking a victim in vain, by distance. (Assumption: a line's transfer within a node, to the next, farther.)
    public var attempt = [60.0, 160, 260]
    /// The same for one of a row of victims, whose words are loaded without waiting for each other. (Assumption: a tenth of it.)
    public var look = [6.0, 16, 26]
    /// Taking a job from a victim, by distance. (Assumption: the owner's answer and two line transfers.)
    public var steal = [400.0, 800, 1200]
    /// How long a victim is occupied with one thief: others that come meanwhile wait.
    public var occupied = 100.0
    /// What a wake costs who gives it: a futex call.
    public var waker = 2000.0
    /// From a wake until the worker looks around.
    public var wake = 6000.0
    /// A thief that found nothing pauses, twice as long each time, up to this.
    public var pause = 2000.0
    /// How long a worker searches in vain before it parks.
    public var spin = 20_000.0
    /// Submitting one closure from outside, and running it.
    public var submit = 30.0
    public var run = 15.0
    /// Claiming a batch of closures from an injector.
    public var claim = 150.0

    public init() {}
}

/// Whom a thief asks, and who wakes whom.
public struct Policy: Sendable {
    public enum Victims: String, Sendable {
        /// By distance, and within it in one fixed order, beginning with the next.
        case nearest
        /// By distance, and within it in another order at each sweep.
        case ranked
        /// Anybody.
        case random
        /// Everybody in one row over all nodes, beginning anywhere.
        case sweep
    }

    public enum Waking: String, Sendable {
        /// Who finds work wakes one, unless somebody searches already.
        case one
        /// Who finds work wakes two.
        case two
        /// Who has work to give wakes everybody that sleeps.
        case all
        /// One, unless somebody of the own node searches already. Only that one waits awake; others look at everybody
        /// once and sleep.
        case token
    }

    public let name: String
    public let victims: Victims
    public let waking: Waking
    public enum Joins: String, Sendable {
        /// A join that has to wait takes forks back from its thief.
        case leapfrog
        /// And where that thief waits too, from the thief's thief, and so on.
        case chain
        /// From anybody.
        case anybody
    }

    /// What a join does that has to wait.
    public let joins: Joins

    /// What the engine does with forks (worker/steal_fork.c, sleep/idle.h, worker/join.c).
    public static let engine = Policy(name: "as the engine", victims: .sweep, waking: .token, joins: .leapfrog)

    /// The engine's, and others that differ from it in one thing each.
    public static let all = [
        engine,
        Policy(name: "nearest nodes first", victims: .ranked, waking: .token, joins: .leapfrog),
        Policy(name: "nearest first, one fixed order", victims: .nearest, waking: .token, joins: .leapfrog),
        Policy(name: "each look at random", victims: .random, waking: .token, joins: .leapfrog),
        Policy(name: "all wait awake, wake one", victims: .sweep, waking: .one, joins: .leapfrog),
        Policy(name: "all wait awake, wake two", victims: .sweep, waking: .two, joins: .leapfrog),
        Policy(name: "wake all", victims: .sweep, waking: .all, joins: .leapfrog),
        Policy(name: "joins follow the chain of thieves", victims: .sweep, waking: .token, joins: .chain),
        Policy(name: "joins help anybody", victims: .sweep, waking: .token, joins: .anybody),
    ]
}

/// What is run.
public enum Job: Sendable {
    /// fib(n), forking at each n; below `block` a subtree is one piece that is not divided.
    case fib(n: Int, block: Int)
    /// A loop of so many leaves in halves, each of so many nanoseconds; the last hundredth takes fifty times as long
    /// where it is imbalanced.
    case loop(leaves: Int, nanoseconds: Double, imbalanced: Bool)
    /// Closures that one thread submits from outside, each of so many nanoseconds.
    case flood(closures: Int, nanoseconds: Double)

    public var name: String {
        switch self {
        case .fib: "fork/join tree"
        case .loop(_, _, let imbalanced): imbalanced ? "imbalanced loop" : "loop"
        case .flood: "flood"
        }
    }
}

/// What came of it.
public struct Outcome: Codable, Sendable {
    public var nanoseconds = 0.0
    /// What one worker would have taken.
    public var work = 0.0
    public var steals = 0, failedSteals = 0, wakes = 0, parks = 0
    /// From a wake until the woken worker had work, on average; those that found none are left out.
    public var wakeLatency = 0.0

    public var speedUp: Double { nanoseconds > 0 ? work / nanoseconds : 0 }
}
