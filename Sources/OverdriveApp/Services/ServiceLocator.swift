// Owns the registered services and their resolution, with its errors. Programs and `Inject` call it. It never starts a task.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

/// The error of a service that could not be resolved.
public enum ServiceError: Error, Equatable, CustomStringConvertible {
    /// The service is not registered.
    case missing(service: String, asker: String)
    /// The service needs itself through other services. The first and the last of the path are equal.
    case circle(path: [String], asker: String)

    public var description: String {
        switch self {
        case .missing(let service, let asker):
            "\(service) is not registered, and \(asker) asked for it: list a Register of it in a provider's modules(), "
                + "or add one to the ServiceLocator"
        case .circle(let path, let asker):
            "\(asker) asked for \(path[0]), which needs itself: "
                + zip(path, path.dropFirst()).map { "\($0) needs \($1)" }.joined(separator: ", ")
        }
    }
}

/// Finds services by their type and optionally a name.
///
///     ServiceLocator.shared.add { Register((any Printer).self) { ConsolePrinter() } }
///     let printer: any Printer = ServiceLocator.shared.module()
///
/// An app registers its providers' modules before its first task starts, and ``Inject`` searches them.
///
/// A later registration of the same type and name replaces the earlier one and its kept instance. Holders of the
/// earlier service keep it.
///
/// - Threading: Safe from any thread, also in the closures of registrations.
/// - Cost: One short critical section; none for a resolved ``Inject``.
public final class ServiceLocator: Sendable {
    /// The locator of the process, which ``Inject`` uses by default.
    public static let shared = ServiceLocator()

    /// Collects registrations that are written as statements.
    @resultBuilder
    public struct Factory {
        /// The registrations of a closure, in their order.
        public static func buildBlock(_ modules: Register...) -> [Register] { modules }
    }

    private enum Stand {
        case unmade
        case resolving(Resolution, WaitGroup)
        case made(any Sendable)
    }

    private final class Entry: Sendable {
        let register: Register
        let stand = Locked<Stand>(.unmade)

        init(_ register: Register) { self.register = register }
    }

    /// The resolution of one service by a thread, with the outer resolutions that led to it.
    final class Resolution: Sendable {
        let parent: Resolution?
        let key: ServiceKey
        /// The resolution of another thread that this thread waits for, and this thread's innermost resolution.
        let wait = Locked<(other: Resolution, innermost: Resolution)?>(nil)

        init(_ key: ServiceKey, inside parent: Resolution?) { (self.key, self.parent) = (key, parent) }
    }

    /// The resolution whose closure the calling thread runs. A Swift task that the closure starts has none.
    private static var resolution: Resolution? { ThreadScope<Resolution>.current }

    /// Held by a thread that decides to wait for another thread's resolution. The last of several threads that would
    /// close a cycle thus sees the cycle.
    private static let waiting = Locked<Void>(())

    private let entries = Locked<[ServiceKey: Entry]>([:])

    /// Creates a separate locator, for tests that run in parallel.
    public init() {}

    // MARK: - Registering

    /// Registers services. A registration replaces an earlier one with the same type and name.
    public func add(@Factory _ modules: () -> [Register]) {
        add(modules())
    }

    /// Registers services. A registration replaces an earlier one with the same type and name.
    public func add(_ modules: [Register]) {
        let replaced = entries.withLock { entries in
            // The dictionary changes in one step: a fork in between would leave a partial change in the child
            // process.
            var changed = entries
            let replaced = modules.compactMap { changed.updateValue(Entry($0), forKey: $0.key) }
            swap(&entries, &changed)
            return replaced
        }
        withExtendedLifetime(replaced) {}  // Released after the lock.
    }

    /// Registers the modules of providers without an app. If a provider throws, nothing is registered.
    public func addBuildTasks(_ providers: () -> [any ServiceProvider]) throws(AppError) {
        try add(modulesOf: providers())
    }

    /// Registers the modules of all providers or, after an error, none. Two registrations with the same type and name
    /// are an error.
    func add(modulesOf providers: [any ServiceProvider]) throws(AppError) {
        var registered: [ServiceKey: String] = [:]
        var modules: [Register] = []
        for provider in providers {
            let name = "\(type(of: provider))"
            let own: [Register]
            do { own = try provider.modules() } catch {
                throw .providerFailed(provider: name, reason: "\(error)")
            }
            for module in own {
                if let first = registered.updateValue(name, forKey: module.key) {
                    throw .registeredTwice(service: "\(module.key)", first: first, second: name)
                }
            }
            modules += own
        }
        add(modules)
    }

    /// Removes all registrations and stored instances.
    public func removeAll() {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return entries
        }
        withExtendedLifetime(all) {}
    }

    // MARK: - Resolving

    /// Returns the service of a type. Traps if there is none; ``resolve(_:name:file:line:)`` throws instead.
    ///
    /// - Parameters:
    ///   - type: The registered type.
    ///   - name: The registered name.
    ///   - file: The calling file, used in error messages.
    ///   - line: The calling line, used in error messages.
    /// - Returns: The stored instance or a new one, as its ``StoragePolicy`` says.
    public func module<T: Sendable>(
        for type: T.Type = T.self, name: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> T {
        do throws(ServiceError) {
            return try resolve(type, name: name, file: file, line: line)
        } catch {
            trap("\(error)")
        }
    }

    /// Returns the service of a type, or throws.
    ///
    /// - Parameters:
    ///   - type: The registered type.
    ///   - name: The registered name.
    ///   - file: The calling file, used in error messages.
    ///   - line: The calling line, used in error messages.
    /// - Returns: The stored instance or a new one, as its ``StoragePolicy`` says.
    /// - Throws: ``ServiceError`` if the service is not registered or needs itself.
    public func resolve<T: Sendable>(
        _ type: T.Type = T.self, name: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) throws(ServiceError) -> T {
        let asker = "\(file):\(line)"
        let key = ServiceKey(type, name: name)
        guard let entry = entries.withLock({ $0[key] }) else {
            throw .missing(service: "\(key)", asker: ServiceLocator.asker(asker))
        }
        // The initializer of a registration knows T, and the key contains T, so the cast succeeds.
        return try value(of: entry, key, asker) as! T
    }

    private static func asker(_ place: String) -> String {
        resolution.map { "the registration of \($0.key), at \(place)," } ?? place
    }

    private func value(of entry: Entry, _ key: ServiceKey, _ asker: String) throws(ServiceError) -> any Sendable {
        let parent = ServiceLocator.resolution
        let mine = Resolution(key, inside: parent)
        if entry.register.policy == .new {
            try ServiceLocator.trackCircle(key, in: parent, asker)
            return ThreadScope.with(mine) { entry.register.resolve() }
        }
        while true {
            enum Next { case take(any Sendable), make(WaitGroup), wait(Resolution, WaitGroup) }
            let next = entry.stand.withLock { stand -> Next in
                switch stand {
                case .made(let value): return .take(value)
                case .resolving(let other, let group): return .wait(other, group)
                case .unmade:
                    let group = WaitGroup()
                    group.enter()
                    stand = .resolving(mine, group)
                    return .make(group)
                }
            }
            switch next {
            case .take(let value):
                return value
            case .make(let group):
                let value = ThreadScope.with(mine) { entry.register.resolve() }
                entry.stand.withLock { $0 = .made(value) }
                group.leave()
                return value
            case .wait(let other, let group):
                try ServiceLocator.beginWaiting(for: other, inside: parent, asker)
                // The registration may wait for this thread by other means, such as a group, which this function
                // cannot detect.
                if group.wait(timeout: .seconds(1)) == .timedOut {
                    warn("ServiceLocator: \(ServiceLocator.asker(asker)) has waited 1 s for \(key), whose registration has not returned. "
                        + "Resolve services on the registration's own thread.")
                    group.wait()
                }
                ServiceLocator.setWait(nil, of: parent)
            }
        }
    }

    /// Throws if a service with policy `.new` needs itself.
    private static func trackCircle(_ key: ServiceKey, in parent: Resolution?, _ asker: String) throws(ServiceError) {
        var (path, next) = ([key], parent)
        while let resolution = next {
            path.append(resolution.key)
            if resolution.key == key { throw .circle(path: path.reversed().map(\.description), asker: asker) }
            next = resolution.parent
        }
    }

    /// Records that this thread waits for another resolution. Throws if that resolution waits, directly or
    /// indirectly, for this thread.
    private static func beginWaiting(
        for other: Resolution, inside parent: Resolution?, _ asker: String
    ) throws(ServiceError) {
        guard let parent else { return }
        let circle = waiting.withLock { _ -> [ServiceKey]? in
            var path: [ServiceKey] = []
            var next: Resolution? = other
            // This follows the waits from thread to thread, and collects the services on the path.
            while let made = next {
                if let here = chain(from: made, in: parent) { return path + here + [other.key] }
                guard let (steps, waited) = waits(of: made) else { break }
                path += steps
                next = waited
            }
            setWait((other, parent), of: parent)
            return nil
        }
        if let circle { throw .circle(path: circle.map(\.description), asker: asker) }
    }

    /// Returns the services from `first` to `last`, if `last` is being made for `first`.
    private static func chain(from first: Resolution, in last: Resolution) -> [ServiceKey]? {
        var (path, next): ([ServiceKey], Resolution?) = ([], last)
        while let resolution = next {
            path.append(resolution.key)
            if resolution === first { return path.reversed() }
            next = resolution.parent
        }
        return nil
    }

    /// Returns the resolution for which the thread of `made` waits, and the services on the path; nil if it does not
    /// wait.
    private static func waits(of made: Resolution) -> ([ServiceKey], Resolution)? {
        made.wait.withLock { $0 }.map { (chain(from: made, in: $0.innermost) ?? [made.key], $0.other) }
    }

    private static func setWait(_ wait: (other: Resolution, innermost: Resolution)?, of innermost: Resolution?) {
        var next = innermost
        while let resolution = next {
            resolution.wait.withLock { $0 = wait }
            next = resolution.parent
        }
    }
}

/// The name of ``ServiceLocator`` in old code.
public typealias CoreServiceLocator = ServiceLocator
