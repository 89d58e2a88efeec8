// Owns the public check for cancellation. Closures call it. It never cancels any work.

/// Reports whether the calling work has been cancelled.
///
///     for chunk in chunks {
///         try Cancellation.check()
///         process(chunk)
///     }
///
/// In work of Overdrive, the answer refers to that work; elsewhere it refers to the current Swift task.
public enum Cancellation {
    /// Whether the running work was cancelled.
    ///
    /// - Cost: A thread-local load and one more load.
    public static var isRequested: Bool {
        CurrentWorkPlace.isRequested ?? Task.isCancelled
    }

    /// Returns if the running work is not cancelled.
    ///
    /// - Throws: `CancellationError` if the work was cancelled.
    /// - Ordering: Writes before the cancellation are visible to the work that sees it.
    /// - Threading: Any thread; the answer refers to the work that the thread runs.
    /// - Cost: A thread-local load and one more load.
    public static func check() throws(CancellationError) {
        if isRequested { throw CancellationError() }
    }
}
