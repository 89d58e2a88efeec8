// Owns an observer that logs the events of tasks with swift-log. Programs add it to tasks. It never changes a task.

#if Logging
public import Logging
public import Overdrive
internal import OverdriveCore

/// Logs the start and end of tasks, with number, name and duration as metadata.
///
///     let task = GetLogoTask()
///     task.add(observer: TaskLogging(to: logger))
///     // debug overdrive: task starts [task: GetLogoTask, task-id: 7, task-name: logo]
///     // error overdrive: task failed: timeout [task: GetLogoTask, task-id: 7, task-name: logo, seconds: 3.41]
///
/// Durations are logged for timed tasks only (`AnyTask.isTimed`, `TaskQueue.timesTasks`).
///
/// - Threading: The thread that starts or ends the task. The logger's handler delays that thread.
public struct TaskLogging: TaskObserver {
    private let logger: Logger
    private let level: Logger.Level
    private let failureLevel: Logger.Level

    /// Creates an observer for any number of tasks.
    ///
    /// - Parameters:
    ///   - logger: The logger for the messages.
    ///   - level: The log level of starts, retries, successes and cancellations.
    ///   - failureLevel: The log level of failures.
    public init(to logger: Logger, at level: Logger.Level = .debug, failuresAt failureLevel: Logger.Level = .error) {
        (self.logger, self.level, self.failureLevel) = (logger, level, failureLevel)
    }

    /// Logs the start of the task.
    public func taskDidStartExecution<T>(_ task: Task<T>) {
        logger.log(level: level, "task starts", metadata: metadata(of: task, duration: nil))
    }

    /// Logs a failed attempt that will be followed by another one.
    public func taskDidRetry<T>(_ task: Task<T>) {
        logger.log(level: level, "task failed and will be attempted again", metadata: metadata(of: task, duration: nil))
    }

    /// Logs the outcome of the task, and its duration if the task is timed.
    public func taskDidFinishExecution<T>(_ task: Task<T>) {
        switch task.result {
        case .failure(let error) where !(error is CancellationError):
            logger.log(level: failureLevel, "task failed: \(error)", metadata: metadata(of: task, duration: task.duration))
        case .failure:
            logger.log(level: level, "task cancelled", metadata: metadata(of: task, duration: task.duration))
        default:
            logger.log(level: level, "task succeeded", metadata: metadata(of: task, duration: task.duration))
        }
    }

    private func metadata(of task: AnyTask, duration: Duration?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["task": "\(type(of: task))", "task-id": "\(task.taskIdentifier)"]
        if let name = task.name { metadata["task-name"] = "\(name)" }
        if let duration { metadata["seconds"] = "\(duration / .seconds(1))" }
        return metadata
    }
}
#endif
