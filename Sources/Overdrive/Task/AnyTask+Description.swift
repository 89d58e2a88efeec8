// Owns a task's number, duration, one-line description and share of its queue's progress. Programs and the state
// machine call it. It never changes the state word.

internal import OverdriveCore
internal import Synchronization

extension AnyTask: CustomStringConvertible {
    /// A number that is unique in the process and distinguishes tasks of one type. The first task that is asked has
    /// number 1.
    ///
    ///     logger.debug("\(task.taskIdentifier) waits")
    ///
    /// - Threading: Any thread.
    /// - Cost: The first read allocates, if the task has no other optional property.
    public final var taskIdentifier: Int {
        makeExtras().locked { fields in
            if let number = fields.number { return number }
            let number = lastNumber.add(1, ordering: .relaxed).newValue  // relaxed: the number publishes no data
            fields.number = number
            return number
        }
    }

    /// Whether ``duration`` is measured, for attempts that begin later. The default is false; `TaskQueue.timesTasks`
    /// also sets it.
    ///
    /// - Threading: Any thread.
    /// - Cost: Two reads of the clock for each attempt, and an allocation if the task has no other optional property.
    public final var isTimed: Bool {
        get { extras?.locked { $0.isTimed } ?? false }
        set { change(.time) { $0.isTimed = newValue } }
    }

    /// The duration of the last attempt, from the start of its body to the outcome or to now. It is nil for a task that is
    /// not timed or has not begun.
    ///
    ///     task.isTimed = true
    ///     queue.add(task: task)
    ///     try task.wait()
    ///     print(task.duration ?? .zero)
    ///
    /// In `taskWillFinishExecution` it already is the duration of the whole attempt.
    ///
    /// - Threading: Any thread.
    /// - Cost: One lock.
    public final var duration: Duration? {
        // A finished task has its end time, unless another thread finished it before its body began.
        let isOver = isFinished
        guard let (began, ended) = ifHad(.time, { ($0.began, $0.ended) }), let began else { return nil }
        return (ended ?? (isOver ? nil : Moment.now)).map { $0 - began }
    }

    final var summary: String {
        let number = taskIdentifier
        // The duration is read after the state, so that a finished task has a duration.
        let how =
            switch (state, failure) {
            case (.finished, nil): "succeeded" + time(" in ")
            case (.finished, is CancellationError): "cancelled" + time(" after ")
            case (.finished, let error?): "failed" + time(" after ") + ": \(error)"
            case (.executing, _): "executing" + time(" for ")
            case (let state, _): "\(state)"
            }
        return "\(type(of: self)) #\(number)" + (name.map { " \"\($0)\"" } ?? "") + " (\(how))"
    }

    private func time(_ word: String) -> String { duration.map { word + $0.inWords } ?? "" }

    /// Counts the task in the progress of its queue.
    final func countInProgress(of queue: TaskQueue) {
        guard queue.tracksProgress else { return }
        change(.ticket) { fields in
            // A faster thread may have added the task already, and the task may have ended since.
            guard !fields.isCounted else { return }
            (fields.isCounted, fields.ticket) = (true, queue.progressTicket)
        }
    }

    /// Ends the task's progress after its outcome, in case it was added to the queue during its publication.
    @inline(__always)
    final func endProgress() {
        if lazyExtras.isSet { endProgress(with: failure) }
    }

    /// Ends the task's progress with its outcome, which is decided.
    final func endProgress(with failure: (any Error)?) {
        guard let ticket = ifHad(.ticket, { $0.ticket.take() }) else { return }
        switch failure {
        case nil: ticket.end(.success)
        case let failure? where failure.isCancellation: ticket.end(.cancellation)
        default: ticket.end(.failure)
        }
    }
}

private let lastNumber = Atomic(0)

/// A moment as the time since the first one. The type `ContinuousClock.Instant` would be looked up at each copy.
private enum Moment {
    private static let first = ContinuousClock.now
    static var now: Duration { first.duration(to: .now) }
}

extension TaskExtras.Fields {
    /// Notes the start of an attempt.
    mutating func noteStart() {
        (began, ended) = (isTimed ? Moment.now : nil, nil)
    }

    /// Notes the end of an attempt. The delay before a retry does not count.
    mutating func noteEnd() {
        if began != nil { ended = ended ?? Moment.now }
    }
}
