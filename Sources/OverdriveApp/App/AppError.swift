/// The error of an app that did not boot, or that rejected an event or task.
public enum AppError: Error, Equatable, CustomStringConvertible {
    /// A task failed, so the boot failed.
    case taskFailed(task: String, reason: String)
    /// A task failed after it had booted, so the app ends.
    case failedLater(task: String, reason: String)
    /// A task did not boot within its time limit.
    case overLimit(task: String, limit: Duration)
    /// A task was given to one app twice, or to two apps.
    case addedTwice(task: String)
    /// A task of the boot had been added to a queue or started before.
    case startedBefore(task: String)
    /// Two providers registered a service with the same type and name.
    case registeredTwice(service: String, first: String, second: String)
    /// A provider threw an error from its modules or tasks.
    case providerFailed(provider: String, reason: String)
    /// The app's scheduler could not be created.
    case noScheduler(reason: String)
    /// The app's supervisor thread or its descriptors could not be created.
    case noSupervisor(reason: String)
    /// A task was not started, because the boot had failed or the end had begun.
    case notStarted(task: String)
    /// An event was posted after the end had begun.
    case postedAfterEnd(event: String)
    /// An event was posted while the queue of events was full.
    case eventsFull(event: String, capacity: Int)

    public var description: String {
        switch self {
        case .taskFailed(let task, let reason):
            "the boot failed: \(task) failed: \(reason)"
        case .failedLater(let task, let reason):
            "\(task) failed after it had booted: \(reason)"
        case .overLimit(let task, let limit):
            "the boot failed: \(task) has not finished within its limit of \(limit): "
                + "make it call setFinished(), or raise its startLimit"
        case .addedTwice(let task):
            "the boot failed: \(task) was given to an app twice: list each task once, in one provider of one app"
        case .startedBefore(let task):
            "the boot failed: \(task) was started before the boot: give a task to an app or to a queue, not to both"
        case .registeredTwice(let service, let first, let second):
            "the boot failed: \(service) is registered by \(first) and by \(second): "
                + "register it once, or give one of the two a name"
        case .providerFailed(let provider, let reason):
            "the boot failed: the provider \(provider) threw: \(reason)"
        case .noScheduler(let reason):
            "the boot failed: the scheduler could not be created: \(reason)"
        case .noSupervisor(let reason):
            "the boot failed: the app's own thread could not be started: \(reason)"
        case .notStarted(let task):
            "\(task) was not started, because the boot had failed or the shutdown had begun"
        case .postedAfterEnd(let event):
            "\(event) was posted after the shutdown had begun, so no task receives it: post it earlier"
        case .eventsFull(let event, let capacity):
            "\(event) was refused, because \(capacity) events are already waiting: "
                + "raise eventCapacity, or post fewer before the boot has ended"
        }
    }
}
