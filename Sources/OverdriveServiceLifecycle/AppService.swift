#if ServiceLifecycle
internal import Overdrive
public import OverdriveApp
public import ServiceLifecycle

/// An app as a `Service` of swift-service-lifecycle, beside others in a `ServiceGroup`.
///
///     let app = AppService { [StorageServices(), WebServices()] }
///     let group = ServiceGroup(
///         services: [telemetry, app], gracefulShutdownSignals: [.sigterm], cancellationSignals: [.sigint], logger: logger)
///     try await group.run()
///
/// The group's graceful shutdown ends the app in order; its cancellation cancels what stops. Signals are the group's: an
/// app inside a process takes none.
public struct AppService: Service {
    private let options: AppOptions
    private let serviceProviders: @Sendable () throws -> [any ServiceProvider]
    private let finished: @Sendable () -> Void

    /// An app that boots when the group starts it.
    ///
    /// - Parameters:
    ///   - options: Limits, budgets, events.
    ///   - finished: Is called once, when all tasks have booted.
    ///   - serviceProviders: Makes the providers, when the service runs: a task boots once.
    public init(
        options: AppOptions = AppOptions(), finished: @escaping @Sendable () -> Void = {},
        serviceProviders: @escaping @Sendable () throws -> [any ServiceProvider]
    ) {
        (self.options, self.finished, self.serviceProviders) = (options, finished, serviceProviders)
    }

    /// Boots the app, and returns when it has ended.
    ///
    /// - Throws: `AppError` where the boot or a task failed, ``AppOverBudget`` where the end took longer than it may.
    public func run() async throws {
        let app = AppTasks.build(serviceProviders: try serviceProviders(), options: options, finished: finished)
        let report = await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await app.ended()
            } onGracefulShutdown: {
                app.end()
            }
        } onCancel: {
            app.end(cancelling: true)
        }
        if let failure = report.failure { throw failure }
        if report.exitCode == 2 { throw AppOverBudget(report: report) }
    }
}

/// The end of an ``AppService`` took longer than its budgets.
public struct AppOverBudget: Error, CustomStringConvertible {
    /// The outcome of the app.
    public let report: AppReport

    public var description: String { report.problems.joined(separator: "; ") }
}
#endif
