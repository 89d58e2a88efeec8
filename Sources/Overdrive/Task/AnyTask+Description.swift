internal import OverdriveCore
internal import Synchronization

extension AnyTask: CustomStringConvertible {
    /// A number that is unique in the process, to distinguish tasks of one type: 1 for the first task that was asked,
    /// and so on.
    ///
    ///     logger.debug("\(task.taskIdentifier) waits")
    ///
    /// - Threading: Any thread.
    /// - Cost: The first look allocates, where the task has no name, observers or the like.
    public final var taskIdentifier: Int {
        makeExtras().locked { fields in
            if let number = fields.number { return number }
            let number = lastNumber.add(1, ordering: .relaxed).newValue  // relaxed: a number and no more
            fields.number = number
            return number
        }
    }

    /// Whether ``duration`` is measured; false unless it was set here, or by `TaskQueue.timesTasks`. It counts
    /// for attempts that begin later.
    ///
    /// - Threading: Any thread.
    /// - Cost: Two looks at the clock an attempt, and an allocation where the task has no name, observers or the like.
    public final var isTimed: Bool {
        get { extras?.locked { $0.isTimed } ?? false }
        set { change(.time) { $0.isTimed = newValue } }
    }

    /// The duration of the last attempt: from the start of its body to the outcome, or to now. nil for a task that is
    /// not timed or has not begun.
    ///
    ///     task.isTimed = true
    ///     queue.add(task: task)
    ///     try task.wait()
    ///     print(task.duration ?? .zero)
    ///
    /// In `taskWillFinishExecution` it is that of the whole attempt already.
    ///
    /// - Threading: Any thread.
    /// - Cost: One lock.
    public final var duration: Duration? {
        let isOver = isFinished  // then it has had its end, unless another thread finished it before it was seen to begin
        guard let (began, ended) = ifHad(.time, { ($0.began, $0.ended) }), let began else { return nil }
        return (ended ?? (isOver ? nil : Moment.now)).map { $0 - began }
    }

    final var summary: String {
        let number = taskIdentifier
        // What it has taken is read after how it stands: whoever has an outcome has a duration.
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
            // Who was faster in bringing the task may have seen it end, too.
            guard !fields.isCounted else { return }
            (fields.isCounted, fields.ticket) = (true, queue.progressTicket)
        }
    }

    /// The task has its outcome, and perhaps came to its queue when it was being published.
    @inline(__always)
    final func endProgress() {
        if lazyExtras.isSet { endProgress(with: failure) }
    }

    /// The outcome is settled.
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

/// A moment as what has passed since the first: the clock's own type is looked up whenever one is copied.
private enum Moment {
    private static let first = ContinuousClock.now
    static var now: Duration { first.duration(to: .now) }
}

extension TaskExtras.Fields {
    /// An attempt begins.
    mutating func noteStart() {
        (began, ended) = (isTimed ? Moment.now : nil, nil)
    }

    /// The outcome is settled, or another attempt is to come: that one's delay is no time of the task's.
    mutating func noteEnd() {
        if began != nil { ended = ended ?? Moment.now }
    }
}
