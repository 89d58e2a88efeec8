/// The lifetime of a registered service.
public enum StoragePolicy: Sendable {
    /// One instance for all callers, made at the first use.
    case unique
    /// A new instance for each caller, so that each `@Inject` has a separate one.
    case new
}

/// Registers the way to make a service, under a type and optionally a name.
///
///     [
///         Register(.unique) { Database(path: path) },
///         Register((any Mailer).self) { SMTPMailer() },
///         Register(URL.self, name: "uploads") { URL(filePath: "/srv/uploads") },
///     ]
public struct Register: Sendable {
    let key: ServiceKey
    let policy: StoragePolicy
    let resolve: @Sendable () -> any Sendable

    /// Creates a registration.
    ///
    /// - Parameters:
    ///   - type: The type to find the service by: by default the closure's result type, or a protocol.
    ///   - name: A name that distinguishes services of the same type.
    ///   - policy: Whether all callers share one instance.
    ///   - resolve: A closure that makes the service. It may resolve other services, but none that needs this one.
    /// - Threading: `resolve` is called on the thread of the first use. With `.unique` it is called once, and other
    ///   threads wait for it. If `resolve` waits for one of those threads, both hang; a warning names the service
    ///   after 1 s.
    public init<T: Sendable>(
        _ type: T.Type = T.self, name: String? = nil, _ policy: StoragePolicy = .new,
        _ resolve: @escaping @Sendable () -> T
    ) {
        key = ServiceKey(type, name: name)
        self.policy = policy
        self.resolve = resolve
    }

    /// Creates a registration under the closure's result type.
    public init<T: Sendable>(
        name: String? = nil, _ policy: StoragePolicy, _ resolve: @escaping @Sendable () -> T
    ) {
        self.init(T.self, name: name, policy, resolve)
    }
}

/// A key of a service: the identity of a type, and a name.
struct ServiceKey: Hashable, Sendable, CustomStringConvertible {
    private let type: ObjectIdentifier
    private let name: String?
    private let title: String

    init<T>(_ type: T.Type, name: String?) {
        self.type = ObjectIdentifier(type)
        self.name = name
        title = String(reflecting: type)
    }

    static func == (a: ServiceKey, b: ServiceKey) -> Bool { a.type == b.type && a.name == b.name }

    func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(name)
    }

    var description: String { name.map { "\(title) named \"\($0)\"" } ?? title }
}
