/// How long what a registration makes is kept.
public enum StoragePolicy: Sendable {
    /// One instance for all, made when the first asks.
    case unique
    /// A new instance for each who asks: each `@Inject` has its own.
    case new
}

/// How a service is made, registered for a type and perhaps a name.
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

    /// A registration.
    ///
    /// - Parameters:
    ///   - type: What it is found by; the closure's own type by default, a protocol if it is to be replaceable.
    ///   - name: Tells services of the same type from each other.
    ///   - policy: Whether all who ask have the same instance.
    ///   - resolve: Makes it. It may resolve other services, but none that needs this one.
    /// - Threading: `resolve` is called on the asking thread. With `.unique` it is called once, and other threads
    ///   wait for it. If `resolve` waits for one of those threads, both hang; a warning names the service after 1 s.
    public init<T: Sendable>(
        _ type: T.Type = T.self, name: String? = nil, _ policy: StoragePolicy = .new,
        _ resolve: @escaping @Sendable () -> T
    ) {
        key = ServiceKey(type, name: name)
        self.policy = policy
        self.resolve = resolve
    }

    /// A registration of the closure's own type.
    public init<T: Sendable>(
        name: String? = nil, _ policy: StoragePolicy, _ resolve: @escaping @Sendable () -> T
    ) {
        self.init(T.self, name: name, policy, resolve)
    }
}

/// A type, by its identity and not by what it is called, and a name.
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
