public import OverdriveCore

/// One attempt at an item, as `process` sees it.
public struct BatchAttempt: Sendable {
    /// Which attempt this is, counted from 1.
    public let number: Int
    /// When it should have ended; nil: whenever.
    public let deadline: ContinuousClock.Instant?
    /// Cancelled when the run is to end.
    public let token: CancellationToken

    /// Whether the item should stop: its time has passed, or the run is to end.
    ///
    /// - Cost: A load, and with a time limit a look at the clock.
    public var isCancelled: Bool {
        token.isCancelled || isLate
    }

    /// Throws when it should stop.
    public func check() throws(BatchStop) {
        if isLate { throw .timeLimit }
        if token.isCancelled { throw .cancelled }
    }

    private var isLate: Bool { deadline.map { $0 < .now } ?? false }
}

/// An error that counts against its item although the run is told to end, such as the crash of a command.
package protocol BatchFault: Error {}

/// Why an attempt was asked to stop.
public enum BatchStop: Error, Sendable, CustomStringConvertible {
    /// It took longer than its time limit.
    case timeLimit
    /// The run is to end; the item is done in the next one.
    case cancelled

    public var description: String {
        switch self {
        case .timeLimit: "its time limit was over"
        case .cancelled: "the run was told to end"
        }
    }
}
