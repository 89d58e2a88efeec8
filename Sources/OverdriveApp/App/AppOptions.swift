/// Configures the boot, events and shutdown of an app.
///
///     var options = AppOptions()
///     options.endBudget = .seconds(55)            // Kubernetes: terminationGracePeriodSeconds: 60
///     options.memoryPressure = .init()
///     AppTasks.build(serviceProviders: [WebServices()], options: options) { print("ready") }
public struct AppOptions: Sendable {
    /// The number of workers of the app's scheduler, 1 to 1024; nil follows the machine's limits.
    public var workers: Int?
    /// The time within which a task must boot, from its start; nil for no limit. A task can override it.
    public var startLimit: Duration? = .seconds(60)
    /// The time within which a task must stop. A task can override it.
    public var stopBudget: Duration = .seconds(10)
    /// The time for the whole shutdown. Kubernetes kills a container after 30 seconds by default.
    public var endBudget: Duration = .seconds(25)
    /// The largest number of waiting events. Closures passed to ``AppTasks/forEach(_:)`` do not count and are never
    /// dropped.
    public var eventCapacity = 1024
    /// The treatment of events when the queue is full.
    public var eventPolicy = EventPolicy.refuseNewest
    /// The locator for the providers' modules, which `@Inject` uses.
    public var services = ServiceLocator.shared
    /// The signals that end the process: the first one drains, the second cancels, and the third exits.
    public var endSignals: [AppSignal] = [.terminate, .interrupt]
    /// The signals that are posted to the tasks as events.
    public var eventSignals: [AppSignal] = [.hangup, .user1, .user2]
    /// Whether the app tells the service manager at `NOTIFY_SOCKET` of readiness, shutdown and watchdog beats.
    public var notifiesServiceManager = true
    /// The threshold for ``MemoryPressure`` events; nil for none.
    public var memoryPressure: MemoryPressure.Threshold?
    /// The files from which memory pressure is read, for tests.
    var pressureFiles: [String]?
    /// The folder for `boot.txt`, `boot.svg` and `boot.json` (a Perfetto trace), written at the end; nil for none.
    public var explanationFolder: String?

    /// The treatment of events when the queue is full.
    public enum EventPolicy: Sendable {
        /// Refuses the new event; ``AppTasks/post(_:)`` returns the reason.
        case refuseNewest
        /// Drops and counts the oldest event.
        case dropOldest
    }

    /// Creates options with the default values.
    public init() {}
}
