import Glibc
import TestSupport
import Testing

@testable import OverdriveApp

extension Command {
    /// The probe, as it stands beside this test bundle.
    static func probe(_ arguments: String...) -> Command { probe(arguments: arguments) }

    static func probe(arguments: [String]) -> Command {
        let folder = overdrivePath.split(separator: "/").dropLast().joined(separator: "/")
        return Command("/\(folder)/app-probe", arguments)
    }
}

extension Running {
    /// What it has written so far.
    var text: String { String(decoding: Scratch.contents(output), as: UTF8.self) }

    /// Waits until it has written a line.
    func has(_ line: String) -> Bool { eventually { text.split(separator: "\n").contains { $0 == line } } }
}

struct Provider: ServiceProvider {
    var tasks: [AppTask] = []
    var registers: [Register] = []

    init(_ tasks: [AppTask], registers: [Register] = []) { (self.tasks, self.registers) = (tasks, registers) }

    func modules() -> [Register] { registers }
    var appTasks: [AppTask] { tasks }
}

/// Options of a test's own: two workers, and services that no other test sees.
func testOptions(_ change: (inout AppOptions) -> Void = { _ in }) -> AppOptions {
    var options = AppOptions()
    options.workers = 2
    options.services = ServiceLocator()
    options.notifiesServiceManager = false
    change(&options)
    return options
}

extension AppTasks {
    static func build(
        _ tasks: [AppTask], options: AppOptions = testOptions(), finished: @escaping @Sendable () -> Void = {}
    ) -> AppTasks {
        build(serviceProviders: [Provider(tasks)], options: options, finished: finished)
    }

    static func booted(_ tasks: [AppTask], options: AppOptions = testOptions()) async throws -> AppTasks {
        let app = build(tasks, options: options)
        try await app.booted()
        return app
    }

    /// Ends the app and waits until it is over.
    @discardableResult
    func over() async -> AppReport {
        end()
        return await ended()
    }
}

/// A task that notes what happens to it.
func noted(
    _ name: String, _ log: Log<String>, after dependencies: [AppTask] = [], _ body: @escaping @Sendable () async throws -> Void = {}
) -> AppTask {
    AppTask(name, dependencies: dependencies) {
        log.note("boot \(name)")
        try await body()
    } stop: {
        log.note("stop \(name)")
    }
}

struct Broken: Error, CustomStringConvertible { var description: String { "the disk is full" } }
