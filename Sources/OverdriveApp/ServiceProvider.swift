/// A part of the program: the services that it registers, and the tasks that boot it.
///
///     struct StorageServices: ServiceProvider {
///         let open = OpenDatabaseTask()
///         func modules() -> [Register] { [Register(.unique) { Database(open.path) }] }
///         var appTasks: [AppTask] { [open] }
///     }
///
/// Both parts are asked for once, on the thread that calls ``AppTasks/build(serviceProviders:options:finished:)``.
/// They may throw: then the boot fails, and its report names the provider.
public protocol ServiceProvider {
    /// What `@Inject` finds, registered before any task starts. None by default.
    func modules() throws -> [Register]
    /// The tasks, in any order; none by default.
    var appTasks: [AppTask] { get throws }
}

extension ServiceProvider {
    public func modules() throws -> [Register] { [] }
    public var appTasks: [AppTask] { get throws { [] } }
}

/// A provider that old programs list; it has no effect.
public struct AdditionsServices: ServiceProvider {
    /// A provider of nothing.
    public init() {}
}
