/// Whether the work that asks has been cancelled.
///
///     for chunk in chunks {
///         try Cancellation.check()
///         process(chunk)
///     }
///
/// Inside Overdrive's work it answers for that work; elsewhere for Swift's current task.
public enum Cancellation {
    /// Whether the running work was asked to stop.
    ///
    /// - Cost: A thread-local load and one more load.
    public static var isRequested: Bool {
        CurrentWorkPlace.isRequested ?? Task.isCancelled
    }

    /// Returns if the running work may go on.
    ///
    /// - Throws: `CancellationError` when it was asked to stop.
    /// - Ordering: What was written before the cancellation is visible to who is told of it.
    /// - Threading: Any thread; it answers for what that thread runs.
    /// - Cost: A thread-local load and one more load.
    public static func check() throws(CancellationError) {
        if isRequested { throw CancellationError() }
    }
}
