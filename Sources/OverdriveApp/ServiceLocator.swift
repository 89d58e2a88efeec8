internal import Overdrive
internal import OverdriveCore
internal import Synchronization

/// Why a service could not be had.
public enum ServiceError: Error, Equatable, CustomStringConvertible {
    /// Nobody has registered it.
    case missing(service: String, asker: String)
    /// It needs itself, by the way of others; the first and the last of the path are the same.
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

/// Finds services by their type, and perhaps a name.
///
///     ServiceLocator.shared.add { Register((any Printer).self) { ConsolePrinter() } }
///     let printer: any Printer = ServiceLocator.shared.module()
///
/// An app registers its providers' modules before its first task starts; ``Inject`` looks here.
///
/// A later registration of the same type and name replaces the earlier one and its kept instance. Holders of the
/// earlier service keep it.
///
/// - Threading: Safe from any thread, and inside registrations' closures.
/// - Cost: One short critical section; none for what an ``Inject`` has resolved.
public final class ServiceLocator: Sendable {
    /// The process's: where ``Inject`` looks.
    public static let shared = ServiceLocator()

    /// Collects registrations that are written one after another.
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

    /// What one thread is making: the services that led to each other.
    final class Resolution: Sendable {
        let parent: Resolution?
        let key: ServiceKey
        /// Another thread's resolution that this one's thread waits for, and for the sake of which of its own.
        let wait = Locked<(other: Resolution, innermost: Resolution)?>(nil)

        init(_ key: ServiceKey, inside parent: Resolution?) { (self.key, self.parent) = (key, parent) }
    }

    /// The resolution whose closure the calling thread is in. A Swift task that the closure starts is in none.
    private static var resolution: Resolution? { ThreadScope<Resolution>.current }

    /// One thread at a time decides to wait for another's resolution: so of those that would close a circle, the last sees
    /// it.
    private static let waiting = Locked<Void>(())

    private let entries = Locked<[ServiceKey: Entry]>([:])

    /// A separate locator, for tests that run in parallel.
    public init() {}

    // MARK: - Registering

    /// Registers services, each in the place of what was registered for its type and name.
    public func add(@Factory _ modules: () -> [Register]) {
        add(modules())
    }

    /// Registers services, each in the place of what was registered for its type and name.
    public func add(_ modules: [Register]) {
        let replaced = entries.withLock { entries in
            // In one step, as a queue's values are: a fork between two would leave a child half of it.
            var changed = entries
            let replaced = modules.compactMap { changed.updateValue(Entry($0), forKey: $0.key) }
            swap(&entries, &changed)
            return replaced
        }
        withExtendedLifetime(replaced) {}  // let go of without the lock
    }

    /// Registers the modules of providers that have no app. One that throws registers nothing.
    public func addBuildTasks(_ providers: () -> [any ServiceProvider]) throws(AppError) {
        try add(modulesOf: providers())
    }

    /// Registers what providers have, or nothing: two for one type and name are an error.
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

    /// Forgets all registrations and kept instances.
    public func removeAll() {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return entries
        }
        withExtendedLifetime(all) {}
    }

    // MARK: - Resolving

    /// The service of a type.
    ///
    /// - Parameters:
    ///   - type: What it was registered for.
    ///   - name: What it was registered under.
    ///   - file: Who asks, for the sentence.
    ///   - line: Who asks, for the sentence.
    /// - Returns: The kept instance, or a new one, as its ``StoragePolicy`` says. It traps where there is none;
    ///   ``resolve(_:name:file:line:)`` throws instead.
    public func module<T: Sendable>(
        for type: T.Type = T.self, name: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> T {
        do throws(ServiceError) {
            return try resolve(type, name: name, file: file, line: line)
        } catch {
            trap("\(error)")
        }
    }

    /// The service of a type.
    ///
    /// - Parameters:
    ///   - type: What it was registered for.
    ///   - name: What it was registered under.
    ///   - file: Who asks, for the sentence.
    ///   - line: Who asks, for the sentence.
    /// - Returns: The kept instance, or a new one, as its ``StoragePolicy`` says.
    /// - Throws: ``ServiceError`` where nobody has registered it, or it needs itself.
    public func resolve<T: Sendable>(
        _ type: T.Type = T.self, name: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) throws(ServiceError) -> T {
        let asker = "\(file):\(line)"
        let key = ServiceKey(type, name: name)
        guard let entry = entries.withLock({ $0[key] }) else {
            throw .missing(service: "\(key)", asker: ServiceLocator.asker(asker))
        }
        // Registers are made by an initializer that knows T, and found by it.
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
                // The registration may wait for this thread by other means, such as a group: nobody can know.
                if group.wait(timeout: .seconds(1)) == .timedOut {
                    warn("ServiceLocator: \(ServiceLocator.asker(asker)) has waited 1 s for \(key), whose registration has not returned. "
                        + "Resolve services on the registration's own thread.")
                    group.wait()
                }
                ServiceLocator.setWait(nil, of: parent)
            }
        }
    }

    /// A service that is made anew for each who asks may not need itself either.
    private static func trackCircle(_ key: ServiceKey, in parent: Resolution?, _ asker: String) throws(ServiceError) {
        var (path, next) = ([key], parent)
        while let resolution = next {
            path.append(resolution.key)
            if resolution.key == key { throw .circle(path: path.reversed().map(\.description), asker: asker) }
            next = resolution.parent
        }
    }

    /// Another resolution makes what this thread needs: unless that one waits, by whatever way, for this thread.
    private static func beginWaiting(
        for other: Resolution, inside parent: Resolution?, _ asker: String
    ) throws(ServiceError) {
        guard let parent else { return }
        let circle = waiting.withLock { _ -> [ServiceKey]? in
            var path: [ServiceKey] = []
            var next: Resolution? = other
            // What each thread is making, from what it was asked for to what it waits for.
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

    /// The services from `first` to `last`, if the latter is made for the former's sake.
    private static func chain(from first: Resolution, in last: Resolution) -> [ServiceKey]? {
        var (path, next): ([ServiceKey], Resolution?) = ([], last)
        while let resolution = next {
            path.append(resolution.key)
            if resolution === first { return path.reversed() }
            next = resolution.parent
        }
        return nil
    }

    /// What the thread that makes a service waits for, and the services that led there.
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
