// Owns the errors of explorations.

/// A schedule in which the body fails, with its steps and the string that repeats it.
public struct ScheduleFailure: Error, CustomStringConvertible {
    /// The kinds of failures.
    public enum Kind: String, Sendable {
        /// The body threw an error, a check failed, or closures were left over.
        case failed
        /// Every thread waits, and no deadline is left.
        case deadlock
        /// The run has more steps than `mostSteps` allows.
        case livelock
        /// A thread has reached no scheduling point for 2 s of real time. The schedule cannot be repeated.
        case stuck
        /// The body has returned, but threads of a scheduler that it made still wait.
        case unfinished
        /// A thread outside the run took part. The schedule cannot be repeated.
        case outside
        /// The run does not follow the string of `OVERDRIVE_REPLAY`.
        case diverged
    }

    /// The kind of the failure.
    public let kind: Kind
    /// The problem, as one sentence.
    public let message: String
    /// The number of the failed iteration; 0 is the first run, without preemptions.
    public let iteration: Int
    /// The number of preemptions in the shortest schedule that was found.
    public let preemptions: Int
    /// The steps of the schedule, one per line.
    public let story: String
    /// The value of `OVERDRIVE_REPLAY` that repeats the schedule; empty if no value can.
    public let replay: String

    /// The problem, the steps, and the string that repeats them.
    public var description: String {
        let again = replay.isEmpty ? "This schedule cannot be repeated." : "Repeat it with OVERDRIVE_REPLAY='\(replay)'"
        return """
            \(kind.rawValue) in iteration \(iteration), with \(preemptions) preemption\(preemptions == 1 ? "" : "s"): \(message)
            \(story)
            \(again)
            """
    }
}

/// A call of `explore` with invalid arguments, or with an invalid `OVERDRIVE_REPLAY`.
public struct ExplorationError: Error, CustomStringConvertible {
    /// The problem and its remedy.
    public let description: String
}
