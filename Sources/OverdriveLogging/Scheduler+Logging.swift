// Owns the bridge from the library's warnings to swift-log. Programs call it once. It never logs task events.

#if Logging
public import Logging
public import OverdriveCore

extension Scheduler {
    /// Logs the library's warnings, which otherwise go to the standard error stream.
    ///
    ///     Scheduler.logWarnings(to: Logger(label: "overdrive"))
    ///
    /// This replaces a handler of `Scheduler.onWarning(_:)`; `Scheduler.onWarning(nil)` ends the logging.
    ///
    /// - Parameters:
    ///   - logger: The logger for warnings of one sentence each. Its handler must not wait for closures of a
    ///     scheduler.
    ///   - level: The log level of the warnings.
    /// - Ordering: A warning that another thread reports during the call may still go to the previous handler.
    /// - Threading: Any thread. The logger's handler runs on any thread, possibly on several at once.
    /// - Cost: One lock.
    public static func logWarnings(to logger: Logger, at level: Logger.Level = .warning) {
        onWarning { sentence in logger.log(level: level, "\(sentence)") }
    }
}
#endif
