// Owns the description of one attempt at an item. `Floor` makes it for the closure of a job. It never stops the item.

public import OverdriveCore

/// Describes one attempt at an item to the closure `process`.
public struct BatchAttempt: Sendable {
    /// The number of the attempt, starting at 1.
    public let number: Int
    /// The deadline of the attempt; nil for none.
    public let deadline: ContinuousClock.Instant?
    /// The token that is cancelled when the run must end.
    public let token: CancellationToken

    /// Whether the item should stop, because its time limit has passed or the run must end.
    ///
    /// - Cost: A load, and a read of the clock if there is a time limit.
    public var isCancelled: Bool {
        token.isCancelled || isLate
    }

    /// Throws if the item should stop.
    ///
    /// - Throws: ``BatchStop`` with the reason.
    public func check() throws(BatchStop) {
        if isLate { throw .timeLimit }
        if token.isCancelled { throw .cancelled }
    }

    private var isLate: Bool { deadline.map { $0 < .now } ?? false }
}

/// An error that counts against its item even while the run ends, such as the crash of a command.
package protocol BatchFault: Error {}

/// The reason for stopping an attempt.
public enum BatchStop: Error, Sendable, CustomStringConvertible {
    /// The attempt exceeded its time limit.
    case timeLimit
    /// The run must end; the next run repeats the item.
    case cancelled

    public var description: String {
        switch self {
        case .timeLimit: "its time limit was over"
        case .cancelled: "the run was told to end"
        }
    }
}
