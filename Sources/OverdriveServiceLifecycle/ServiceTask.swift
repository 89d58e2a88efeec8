// Owns the adapter that runs a service of swift-service-lifecycle as a task of an app. Programs create it. It never
// blocks a worker.

#if ServiceLifecycle
public import Logging
internal import Overdrive
public import OverdriveApp
public import ServiceLifecycle

/// Runs a `Service` of swift-service-lifecycle as a task of an app.
///
///     let database = AppTask("database") { try await pool.connect() } stop: { await pool.close() }
///     let server = ServiceTask(HTTPServer(pool), name: "server", dependencies: [database])
///     AppTasks.run(serviceProviders: [WebServices(tasks: [database, server])])
///
/// The service's `run()` starts when all dependencies of the task have booted. The task counts as booted from then
/// on, or from the return of `isReady`. When all dependents have stopped, the service gets a graceful shutdown. The
/// task has stopped when `run()` returns. A second signal, or the end of its time budget, cancels it.
///
/// An error of the service fails the boot or, later, the app. So does an early return of `run()`, unless `mayReturn`
/// is true.
///
/// - Threading: `run()` is a Swift task on Swift's threads and holds no worker of the app.
public final class ServiceTask: AppTask, @unchecked Sendable {
    /// The reason for the end of `run()`.
    private enum Ending { case asked, notReady }

    private struct Record {
        var running: AsyncTask<Void, any Error>?
        var ending: Ending?
    }

    // A group with one service, because only a group can send a graceful shutdown to a service.
    private let services: ServiceGroup
    private let mayReturn: Bool
    private let readiness: @Sendable () async throws -> Void
    private let record = Locked(Record())

    /// Creates a task from a service.
    ///
    /// - Parameters:
    ///   - service: The service to run.
    ///   - name: The name in reports and messages; by default the type of the service.
    ///   - dependencies: The tasks that boot before this one, and stop after it.
    ///   - mayReturn: Whether `run()` may return before a shutdown, as that of a migration does.
    ///   - logger: The logger of the service's group.
    ///   - isReady: Returns when the service can be used, or throws if it cannot. Runs concurrently with `run()`.
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
        record.withLock { $0.running = running }  // set before other threads can stop this task
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
                // With `mayReturn`, only `isReady` decides whether the task has booted.
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

    /// Ends the service after `isReady` has failed. The app does not stop a task that has not booted.
    private func end(_ running: AsyncTask<Void, any Error>, because error: any Error) async {
        record.withLock { $0.ending = $0.ending ?? .notReady }
        running.cancel()
        _ = await running.result
        fail(error)
    }

    /// Shuts the service down gracefully when the app ends while `isReady` still waits.
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
