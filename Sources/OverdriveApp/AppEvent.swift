/// An event in the running program: a reload, memory pressure, or a message of the program.
///
///     struct Reload: AppEvent { var file: String }
///     AppTasks.shared?.post(Reload(file: "limits.json"))
///
/// The set of events is open: any Sendable type may be one. A task hears of them in ``AppTask/receive(_:)`` or with
/// ``AppTask/listen(for:_:)``.
public protocol AppEvent: Sendable {}

/// A signal of the process that does not end it: SIGHUP, SIGUSR1, SIGUSR2.
///
///     listen(for: AppSignal.self) { signal in if signal == .hangup { reload() } }
public struct AppSignal: AppEvent, Hashable, CustomStringConvertible {
    /// The signal's number.
    public let number: Int32

    /// A signal by its number.
    public init(number: Int32) {
        self.number = number
    }

    /// SIGHUP: by custom, "read your configuration again".
    public static let hangup = AppSignal(number: 1)
    /// SIGINT: Ctrl-C.
    public static let interrupt = AppSignal(number: 2)
    /// SIGUSR1.
    public static let user1 = AppSignal(number: 10)
    /// SIGUSR2.
    public static let user2 = AppSignal(number: 12)
    /// SIGTERM: what service managers stop a process with.
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

/// The kernel says that the program's control group waits for memory: a moment to let caches go.
///
/// It comes where ``AppOptions/memoryPressure`` asks for it.
public struct MemoryPressure: AppEvent, Hashable {
    /// When the kernel is to say so.
    public struct Threshold: Sendable, Hashable {
        /// How long tasks of the control group waited for memory.
        public var stall: Duration
        /// Within which time: 0.5 to 10 seconds, and a multiple of 2 seconds for a process without CAP_SYS_RESOURCE.
        public var window: Duration

        /// A threshold; the kernel refuses other windows, and the report has a note of it.
        public init(stall: Duration = .milliseconds(150), window: Duration = .seconds(2)) {
            self.stall = stall
            self.window = window
        }
    }

    /// The threshold that was passed.
    public let threshold: Threshold
}
