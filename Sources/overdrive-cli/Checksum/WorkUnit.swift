/// A piece of a checksum run: a directory to list or a file to read.
///
/// A unit belongs to its plan, under the run's lock. During `perform` it belongs to the worker that runs it. The
/// engine's submission and the lock transfer it, which justifies `Sendable`.
class WorkUnit: @unchecked Sendable {
    /// Whether the unit has returned. The plan sets it under the lock.
    final var isDone = false

    /// Does the work on a thread of the engine, without the lock.
    func perform(with reader: FileReader) {}
}

/// Decides the next unit and puts results in order. All calls are made under the run's lock.
protocol Plan: AnyObject, SendableMetatype {
    /// Appends the text before all results to `output`.
    func begin(into output: inout Bytes)

    /// Returns the next unit that may start; nil if there is none now.
    func next() -> WorkUnit?

    /// Takes a unit after its `perform`, and appends the results that are next in order to `output`.
    func finish(_ unit: WorkUnit, into output: inout Bytes)

    /// Whether all units were handed out and have returned.
    var isFinished: Bool { get }

    var failures: FailureList { get }

    /// The largest number of results that waited for an earlier one.
    var peakHeld: Int { get }
}

extension Plan {
    func begin(into output: inout Bytes) {}
}
