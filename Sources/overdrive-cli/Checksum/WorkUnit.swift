/// One piece of a checksum run: a directory to list or a file to read.
///
/// A unit belongs to its plan, under the run's lock, but for the time of its `perform`, when it
/// belongs to the worker that runs it; the engine's submission and the lock's next holder carry it
/// over. That is why it may say that it is `Sendable`.
class WorkUnit: @unchecked Sendable {
    /// Set by the plan, under the lock, when the unit came back.
    final var isDone = false

    /// Does the work, on one of the engine's threads, outside the lock.
    func perform(with reader: FileReader) {}
}

/// Decides what is to be done next, and puts what is done in order. Every call is made under the
/// run's lock.
protocol Plan: AnyObject, SendableMetatype {
    /// Appends to `output` what comes before all results.
    func begin(into output: inout Bytes)

    /// The next unit that may start, or nil when there is none for now.
    func next() -> WorkUnit?

    /// Takes back a unit after its `perform`, and appends to `output` what is now next in order.
    func finish(_ unit: WorkUnit, into output: inout Bytes)

    /// Whether every unit was handed out and came back.
    var isFinished: Bool { get }

    var failures: FailureList { get }

    /// The most results that ever waited for an earlier one.
    var peakHeld: Int { get }
}

extension Plan {
    func begin(into output: inout Bytes) {}
}
