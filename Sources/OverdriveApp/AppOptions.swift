/// How an app boots, listens and ends.
///
///     var options = AppOptions()
///     options.endBudget = .seconds(55)            // Kubernetes: terminationGracePeriodSeconds: 60
///     options.memoryPressure = .init()
///     AppTasks.build(serviceProviders: [WebServices()], options: options) { print("ready") }
public struct AppOptions: Sendable {
    /// The most workers of the app's scheduler, 1 to 1024; nil follows the machine's limits.
    public var workers: Int?
    /// The time in which a task must boot, from its start, unless the task sets its own; nil for no limit.
    public var startLimit: Duration? = .seconds(60)
    /// The time in which a task must stop, unless the task sets its own.
    public var stopBudget: Duration = .seconds(10)
    /// How long the whole end may take. Kubernetes kills after 30 seconds.
    public var endBudget: Duration = .seconds(25)
    /// How many events may wait. Closures of ``AppTasks/forEach(_:)`` that wait do not count, and none is dropped.
    public var eventCapacity = 1024
    /// The policy for events without room.
    public var eventPolicy = EventPolicy.refuseNewest
    /// The locator that holds the providers' modules, and that `@Inject` uses.
    public var services = ServiceLocator.shared
    /// The signals that end a process: the first drains, the second cancels, the third exits.
    public var endSignals: [AppSignal] = [.terminate, .interrupt]
    /// The signals that are posted to the tasks as events.
    public var eventSignals: [AppSignal] = [.hangup, .user1, .user2]
    /// Whether the service manager at `NOTIFY_SOCKET` is told of readiness, the end and the watchdog's beat.
    public var notifiesServiceManager = true
    /// When ``MemoryPressure`` is posted; nil: never.
    public var memoryPressure: MemoryPressure.Threshold?
    /// Where the pressure is read, the nearest first: tests' own.
    var pressureFiles: [String]?
    /// A folder for `boot.txt`, `boot.svg` and `boot.json` (a trace that Perfetto reads), written at the end; nil: none.
    public var explanationFolder: String?

    /// The policy for events without room.
    public enum EventPolicy: Sendable {
        /// It is refused: ``AppTasks/post(_:)`` returns why.
        case refuseNewest
        /// The one that has waited longest is dropped for it, and counted.
        case dropOldest
    }

    /// The defaults.
    public init() {}
}
