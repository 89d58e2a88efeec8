#if Logging
public import Logging
public import OverdriveCore

extension Scheduler {
    /// Has the library's warnings logged, which otherwise go to the standard error stream.
    ///
    ///     Scheduler.logWarnings(to: Logger(label: "overdrive"))
    ///
    /// In place of whoever takes them by `Scheduler.onWarning(_:)`; `Scheduler.onWarning(nil)` ends it.
    ///
    /// - Parameters:
    ///   - logger: Where they go, each as one sentence. Its handler must not wait for closures of a scheduler.
    ///   - level: What they are logged as.
    /// - Ordering: A warning under way when this is called may still go where the ones before went.
    /// - Threading: Any thread. The logger's handler is called on any thread, several at a time.
    /// - Cost: One lock.
    public static func logWarnings(to logger: Logger, at level: Logger.Level = .warning) {
        onWarning { sentence in logger.log(level: level, "\(sentence)") }
    }
}
#endif
