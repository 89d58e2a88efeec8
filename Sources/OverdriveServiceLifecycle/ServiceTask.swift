#if ServiceLifecycle
public import Logging
internal import Overdrive
public import OverdriveApp
public import ServiceLifecycle

/// A `Service` of swift-service-lifecycle as a task of an app.
///
///     let database = AppTask("database") { try await pool.connect() } stop: { await pool.close() }
///     let server = ServiceTask(HTTPServer(pool), name: "server", dependencies: [database])
///     AppTasks.run(serviceProviders: [WebServices(tasks: [database, server])])
///
/// The service's `run()` begins when all dependencies of the task have booted. The task has booted then, or when
/// `isReady` has returned. At the end the service is asked to shut down gracefully when all dependents have stopped.
/// The task has stopped when `run()` returns; a second signal, or its spent budget, cancels it.
///
/// A service that throws fails the boot or, later, the app; so does one that returns before it was asked to, unless it
/// may.
///
/// - Threading: `run()` is a Swift task on Swift's threads and holds no worker of the app.
public final class ServiceTask: AppTask, @unchecked Sendable {
    /// Why `run()` is to end.
    private enum Ending { case asked, notReady }

    private struct Record {
        var running: AsyncTask<Void, any Error>?
        var ending: Ending?
    }

    // A group of one: graceful shutdown is told to services by their group alone.
    private let services: ServiceGroup
    private let mayReturn: Bool
    private let readiness: @Sendable () async throws -> Void
    private let record = Locked(Record())

    /// A task from a service.
    ///
    /// - Parameters:
    ///   - service: What runs.
    ///   - name: What reports and messages call it; its type by default.
    ///   - dependencies: The tasks that have to boot before it, and stop after it.
    ///   - mayReturn: Whether `run()` may return before it was asked to, as that of a migration does.
    ///   - logger: Where the service's group writes.
    ///   - isReady: Returns when the service can be used, and throws when it cannot; it runs beside `run()`.
    public init(
        _ service: any Service, name: String? = nil, dependencies: [AnyTask] = [], mayReturn: Bool = false,
        logger: Logger = Logger(label: "overdrive.app"), isReady: @escaping @Sendable () async throws -> Void = {}
    ) {
        let name = name ?? "\(type(of: service))"
        self.services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: name)
                ],
                logger: logger))
        self.mayReturn = mayReturn
        readiness = isReady
        super.init()
        self.name = name
        for dependency in dependencies { addDependency(dependency) }
    }

    public override func main() {
        let running = AsyncTask { [services] in try await services.run() }
        record.withLock { $0.running = running }  // before anybody can have this task stopped
        let becoming = AsyncTask { [self] in
            do {
                try await readiness()
                setFinished()
            } catch {
                await end(running, because: error)
            }
        }
        onCancel {
            running.cancel()
            becoming.cancel()
        }
        AsyncTask { [self] in
            let result = await running.result
            switch (result, record.withLock { $0.ending }) {
            case (.failure(let error), nil):
                fail(error)
            case (.success, nil):
                // What may return leaves it to isReady whether it has booted.
                if mayReturn { return }
                fail(ReturnedEarly())
            case (_, .asked):
                if !isFinished { fail(CancellationError()) }
            case (_, .notReady):
                return
            }
            becoming.cancel()
        }
    }

    /// It is nobody else's: a task that has not booted is not stopped.
    private func end(_ running: AsyncTask<Void, any Error>, because error: any Error) async {
        record.withLock { $0.ending = $0.ending ?? .notReady }
        running.cancel()
        _ = await running.result
        fail(error)
    }

    /// The app ends while `isReady` waits: the service is asked to shut down.
    public override func interrupt() {
        record.withLock { $0.ending = .asked }
        AsyncTask { [services] in await services.triggerGracefulShutdown() }
    }

    public override func stop() async throws {
        let running = record.withLock { record in
            record.ending = .asked
            return record.running
        }
        guard let running else { return }
        await services.triggerGracefulShutdown()
        try await withTaskCancellationHandler {
            do { try await running.value } catch is CancellationError where AsyncTask<Never, Never>.isCancelled {}
        } onCancel: {
            running.cancel()
        }
    }

    private struct ReturnedEarly: Error, CustomStringConvertible {
        var description: String {
            "its run() returned before it was asked to: let it run until graceful shutdown, or make it with mayReturn: true"
        }
    }
}
#endif
