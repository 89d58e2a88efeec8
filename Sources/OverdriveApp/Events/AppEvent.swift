/// An event in the running program: a reload, memory pressure, or a message of the program.
///
///     struct Reload: AppEvent { var file: String }
///     AppTasks.shared?.post(Reload(file: "limits.json"))
///
/// Any Sendable type can conform. A task receives events in ``AppTask/receive(_:)``, or in a closure passed to
/// ``AppTask/listen(for:_:)``.
public protocol AppEvent: Sendable {}

/// A signal of the process that does not end it: SIGHUP, SIGUSR1, SIGUSR2.
///
///     listen(for: AppSignal.self) { signal in if signal == .hangup { reload() } }
public struct AppSignal: AppEvent, Hashable, CustomStringConvertible {
    /// The signal's number.
    public let number: Int32

    /// Creates a signal from its number.
    public init(number: Int32) {
        self.number = number
    }

    /// SIGHUP, by convention a request to read the configuration again.
    public static let hangup = AppSignal(number: 1)
    /// SIGINT: Ctrl-C.
    public static let interrupt = AppSignal(number: 2)
    /// SIGUSR1.
    public static let user1 = AppSignal(number: 10)
    /// SIGUSR2.
    public static let user2 = AppSignal(number: 12)
    /// SIGTERM, by which service managers stop a process.
    public static let terminate = AppSignal(number: 15)

    public var description: String {
        switch self {
        case .hangup: "SIGHUP"
        case .interrupt: "SIGINT"
        case .user1: "SIGUSR1"
        case .user2: "SIGUSR2"
        case .terminate: "SIGTERM"
        default: "signal \(number)"
        }
    }
}

/// A report of the kernel that the program's control group waits for memory. Receivers should release caches.
///
/// It is posted only if ``AppOptions/memoryPressure`` is set.
public struct MemoryPressure: AppEvent, Hashable {
    /// The amount of waiting that causes a report.
    public struct Threshold: Sendable, Hashable {
        /// The total time that tasks of the control group waited for memory.
        public var stall: Duration
        /// The period of measurement: 0.5 to 10 seconds. Without CAP_SYS_RESOURCE it must be a multiple of 2 seconds.
        public var window: Duration

        /// Creates a threshold. If the kernel rejects the window, the app's report has a note.
        public init(stall: Duration = .milliseconds(150), window: Duration = .seconds(2)) {
            self.stall = stall
            self.window = window
        }
    }

    /// The threshold that was exceeded.
    public let threshold: Threshold
}
