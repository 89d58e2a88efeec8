// Owns the names of the strategies, and the result of an exploration. The explorer reads them.

/// Decides which thread runs next at each scheduling point of an exploration.
///
/// - ``randomWalk`` finds most bugs that need one or two switches.
/// - ``priorities(depth:)`` finds bugs that need few switches at the right places in long bodies, with a known bound.
/// - ``exhaustive(preemptions:)`` runs every schedule of a small body with few preemptions.
public enum Strategy: Sendable, Equatable {
    /// Each ready thread is as likely as any other.
    case randomWalk
    /// Threads have random priorities. At `depth` − 1 points, 0 to 16, the running thread falls behind all others.
    ///
    /// A bug that needs `depth` ordered steps is found by an iteration with a probability of at least 1/(n·k^(depth−1)),
    /// for n threads of the run, the engine's among them, and k decisions (Burckhardt and others, 2010).
    /// ``Exploration/promise`` has the figure.
    case priorities(depth: Int)
    /// Every schedule with at most this number of preemptions, until the iterations are used up.
    case exhaustive(preemptions: Int)
}

/// The result of an exploration without a failure.
public struct Exploration: Sendable, CustomStringConvertible {
    /// The number of schedules, without the first one, which measures the body.
    public let iterations: Int
    /// The number of scheduling points of all iterations.
    public let points: Int
    /// A hash of all steps, in order. Equal seeds give equal hashes.
    public let digest: UInt64
    /// Whether ``Strategy/exhaustive(preemptions:)`` has run all of its schedules.
    public let isComplete: Bool
    /// The strength of the result, as one sentence.
    public let promise: String

    /// The numbers of iterations and points, and the promise.
    public var description: String {
        "no failure in \(iterations) iterations with \(points) points: \(promise)"
    }
}
