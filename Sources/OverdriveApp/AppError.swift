/// Why an app did not boot, or did not take what it was given.
public enum AppError: Error, Equatable, CustomStringConvertible {
    /// A task failed, and with it the boot.
    case taskFailed(task: String, reason: String)
    /// A task that had booted failed, and with it the app.
    case failedLater(task: String, reason: String)
    /// A task took longer to boot than it may.
    case overLimit(task: String, limit: Duration)
    /// The same task was given to an app twice, or to two apps.
    case addedTwice(task: String)
    /// A task of the boot was added to a queue or started before.
    case startedBefore(task: String)
    /// Two providers register the same type under the same name.
    case registeredTwice(service: String, first: String, second: String)
    /// A provider threw when it was asked for its modules or tasks.
    case providerFailed(provider: String, reason: String)
    /// The app's scheduler could not be made.
    case noScheduler(reason: String)
    /// The app's own thread or its descriptors could not be made.
    case noSupervisor(reason: String)
    /// A task was not started, because the boot had failed or the end had begun.
    case notStarted(task: String)
    /// An event was posted after the end had begun.
    case postedAfterEnd(event: String)
    /// An event was posted while as many waited as may.
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
