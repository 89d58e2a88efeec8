/// Describes a part of a program: its services and the tasks that boot it.
///
///     struct StorageServices: ServiceProvider {
///         let open = OpenDatabaseTask()
///         func modules() -> [Register] { [Register(.unique) { Database(open.path) }] }
///         var appTasks: [AppTask] { [open] }
///     }
///
/// Both members are read once, on the thread that calls ``AppTasks/build(serviceProviders:options:finished:)``. If
/// one throws, the boot fails, and the report names the provider.
public protocol ServiceProvider {
    /// Returns the services for `@Inject`, which are registered before any task starts. The default is none.
    func modules() throws -> [Register]
    /// The tasks, in any order; none by default.
    var appTasks: [AppTask] { get throws }
}

extension ServiceProvider {
    public func modules() throws -> [Register] { [] }
    public var appTasks: [AppTask] { get throws { [] } }
}

/// A provider in the lists of old programs; it has no effect.
public struct AdditionsServices: ServiceProvider {
    /// Creates a provider without services and tasks.
    public init() {}
}
