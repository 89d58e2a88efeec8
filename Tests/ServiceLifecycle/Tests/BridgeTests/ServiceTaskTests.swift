import Foundation
import Logging
import OverdriveApp
import OverdriveServiceLifecycle
import ServiceLifecycle
import Testing

/// Services as an app's tasks.
@Suite("A service as a task", .timeLimit(.minutes(1)))
struct ServiceTaskTests {
    @Test("runs after what it needs has booted, and shuts down gracefully before that is stopped")
    func order() async throws {
        let log = Log()
        let base = AppTask("base") { log.note("base up") } stop: { log.note("base stopped") }
        let server = ServiceTask(Waiting(name: "server", log: log), name: "server", dependencies: [base])
        let client = ServiceTask(Waiting(name: "client", log: log), name: "client", dependencies: [server])
        let app = build([client, server, base])
        try await app.booted()
        await log.has("client runs")
        app.end()
        let report = await app.ended()
        #expect(report.exitCode == 0, "\(report.table)")
        #expect(log.all.first == "base up")
        #expect(log.all.suffix(3) == ["client shut down", "server shut down", "base stopped"])
        #expect(report.tasks.map(\.task) == ["client", "server", "base"])
    }

    @Test("has booted when it says that it is ready")
    func readiness() async throws {
        let (log, ready) = (Log(), AsyncStream.makeStream(of: Void.self))
        let server = ServiceTask(Waiting(name: "server", log: log)) {
            for await _ in ready.stream { break }
            log.note("ready")
        }
        let after = AppTask("after", dependencies: [server]) { log.note("after") }
        let app = build([server, after])
        await log.has("server runs")
        #expect(!app.hasBooted && !log.all.contains("after"))
        ready.continuation.yield()
        try await app.booted()
        #expect(log.all == ["server runs", "ready", "after"])
        app.end()
        _ = await app.ended()
    }

    @Test("that is never ready fails the boot, and has ended before what it needs is stopped")
    func neverReady() async throws {
        let log = Log()
        let base = AppTask("base") {} stop: { log.note("base stopped") }
        let server = ServiceTask(Waiting(name: "server", log: log), name: "server", dependencies: [base]) {
            await log.has("server runs")
            throw Broken()
        }
        let report = await build([base, server]).ended()
        #expect(report.failure == .taskFailed(task: "\"server\"", reason: "the disk is full"))
        #expect(report.exitCode == 1)
        #expect(log.all == ["server runs", "server cancelled", "base stopped"])
    }

    @Test("whose app ends while it is not ready yet is shut down")
    func endWhileBooting() async throws {
        let log = Log()
        let base = AppTask("base") {} stop: { log.note("base stopped") }
        let server = ServiceTask(Waiting(name: "server", log: log), name: "server", dependencies: [base]) {
            try await _Concurrency.Task.sleep(for: .seconds(600))
        }
        let app = build([base, server])
        await log.has("server runs")
        app.end()
        let report = await app.ended()
        #expect(report.exitCode == 0 && report.failure == nil, "\(report.table)")
        #expect(log.all == ["server runs", "server shut down", "base stopped"])
    }

    @Test("ends the app, in order, when it throws or returns too early; and may return if it is said to")
    func ends() async throws {
        let log = Log()
        for (service, reason) in [
            (Ending(error: Broken()), "the disk is full"),
            (Ending(error: nil), "its run() returned before it was asked to: "
                + "let it run until graceful shutdown, or make it with mayReturn: true"),
        ] {
            let base = AppTask("base") {} stop: { log.note("base stopped") }
            let report = await build([base, ServiceTask(service, name: "job", dependencies: [base])]).ended()
            #expect(report.exitCode == 1)
            // Before the boot is over or after it: it is the app's failure either way.
            let said = report.failure?.description ?? ""
            #expect(said.contains("\"job\" failed") && said.hasSuffix(": " + reason), "\(said)")
            #expect(log.all.last == "base stopped")
        }
        // Nobody waits for its readiness any more.
        let unready = ServiceTask(Ending(error: Broken())) {
            do { try await _Concurrency.Task.sleep(for: .seconds(36_000)) } catch { log.note("not waited for") }
        }
        #expect(await build([unready]).ended().failure == .taskFailed(task: "\"Ending\"", reason: "the disk is full"))
        await log.has("not waited for")
        let app = build([ServiceTask(Ending(error: nil), name: "migration", mayReturn: true)])
        try await app.booted()
        app.end()
        #expect(await app.ended().exitCode == 0)
    }

    @Test("that throws at its shutdown has a note of it in the report")
    func throwsAtShutdown() async throws {
        let log = Log()
        let app = build([ServiceTask(Waiting(name: "server", log: log, error: Broken()), name: "server")])
        await log.has("server runs")
        try await app.booted()
        app.end()
        #expect(await app.ended().notes == ["\"server\" failed to stop: the disk is full"])
    }

    @Test("that does not shut down is cancelled when its budget is spent, and by a second request")
    func budget() async throws {
        for asksTwice in [false, true] {
            let log = Log()
            let base = AppTask("base") {} stop: { log.note("base stopped") }
            let deaf = ServiceTask(Deaf(log: log), name: "deaf", dependencies: [base])
            deaf.stopBudget = asksTwice ? .seconds(600) : .milliseconds(50)
            let app = build([base, deaf], endBudget: .seconds(20))
            try await app.booted()
            await log.has("deaf runs")
            app.end()
            if asksTwice { app.end(cancelling: true) }
            let report = await app.ended()
            await log.has("deaf cancelled")
            #expect(report.overBudget == (asksTwice ? [] : ["\"deaf\""]))
            #expect(report.exitCode == (asksTwice ? 0 : 2))
            #expect(log.all.contains("base stopped"))
        }
    }

    @Test("listens to the app's events like any task")
    func events() async throws {
        struct Ping: AppEvent {}
        let log = Log()
        let server = ServiceTask(Waiting(name: "server", log: log))
        server.listen(for: Ping.self) { _ in log.note("ping") }
        let app = build([server])
        try await app.booted()
        app.post(Ping())
        await log.has("ping")
        app.end()
        _ = await app.ended()
    }
}

// MARK: - Services and their logs

struct Broken: Error, CustomStringConvertible { var description: String { "the disk is full" } }

/// Runs until graceful shutdown.
struct Waiting: Service {
    let name: String
    let log: Log
    var error: Broken?

    func run() async throws {
        log.note("\(name) runs")
        do {
            try await gracefulShutdown()
            log.note("\(name) shut down")
            if let error { throw error }
        } catch {
            log.note("\(name) cancelled")
            throw error
        }
    }
}

/// Hears of no graceful shutdown.
struct Deaf: Service {
    let log: Log

    func run() async throws {
        log.note("deaf runs")
        do { try await _Concurrency.Task.sleep(for: .seconds(600)) } catch { log.note("deaf cancelled") }
    }
}

struct Ending: Service {
    let error: Broken?
    func run() async throws { if let error { throw error } }
}

final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func note(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }

    /// Returns when the line is there.
    func has(_ line: String) async {
        while !all.contains(line) { try? await _Concurrency.Task.sleep(for: .milliseconds(2)) }
    }
}

struct Provider: ServiceProvider {
    let appTasks: [AppTask]
}

func build(_ tasks: [AppTask], endBudget: Duration = .seconds(10)) -> AppTasks {
    var options = AppOptions()
    options.workers = 2
    options.services = ServiceLocator()
    options.endBudget = endBudget
    return AppTasks.build(serviceProviders: [Provider(appTasks: tasks)], options: options)
}
