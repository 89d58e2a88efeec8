#if Logging
public import Logging
public import Overdrive
internal import OverdriveCore

/// An observer that logs how a task goes: that it starts and how it ends, with its number, name and duration as metadata.
///
///     let task = GetLogoTask()
///     task.add(observer: TaskLogging(to: logger))
///     // debug overdrive: task starts [task: GetLogoTask, task-id: 7, task-name: logo]
///     // error overdrive: task failed: timeout [task: GetLogoTask, task-id: 7, task-name: logo, seconds: 3.41]
///
/// Durations are there where the task is timed (`AnyTask.isTimed`, `TaskQueue.timesTasks`).
///
/// - Threading: On the thread that starts or ends the task, which it holds up for as long as the logger's handler takes.
public struct TaskLogging: TaskObserver {
    private let logger: Logger
    private let level: Logger.Level
    private let failureLevel: Logger.Level

    /// An observer for any number of tasks.
    ///
    /// - Parameters:
    ///   - logger: Where lines go.
    ///   - level: What starts, further attempts, successes and cancellations are logged as.
    ///   - failureLevel: What failures are logged as.
    public init(to logger: Logger, at level: Logger.Level = .debug, failuresAt failureLevel: Logger.Level = .error) {
        (self.logger, self.level, self.failureLevel) = (logger, level, failureLevel)
    }

    /// Logs that the task starts.
    public func taskDidStartExecution<T>(_ task: Task<T>) {
        logger.log(level: level, "task starts", metadata: metadata(of: task, duration: nil))
    }

    /// Logs that an attempt has failed and another will follow.
    public func taskDidRetry<T>(_ task: Task<T>) {
        logger.log(level: level, "task failed and will be attempted again", metadata: metadata(of: task, duration: nil))
    }

    /// Logs how the task ended, and after how long where it is timed.
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
