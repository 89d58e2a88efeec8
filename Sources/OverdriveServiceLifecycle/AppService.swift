// Owns the adapter that runs an app as a service of swift-service-lifecycle. Programs put it in a `ServiceGroup`. It
// never handles signals.

#if ServiceLifecycle
internal import Overdrive
public import OverdriveApp
public import ServiceLifecycle

/// Runs an app as a `Service` of swift-service-lifecycle, with others in a `ServiceGroup`.
///
///     let app = AppService { [StorageServices(), WebServices()] }
///     let group = ServiceGroup(
///         services: [telemetry, app], gracefulShutdownSignals: [.sigterm], cancellationSignals: [.sigint], logger: logger)
///     try await group.run()
///
/// A graceful shutdown of the group ends the app in order. A cancellation of the group also cancels tasks that are
/// stopping. The group handles signals; an app inside a group handles none.
public struct AppService: Service {
    private let options: AppOptions
    private let serviceProviders: @Sendable () throws -> [any ServiceProvider]
    private let finished: @Sendable () -> Void

    /// Creates an app that boots when the group starts the service.
    ///
    /// - Parameters:
    ///   - options: Time limits, budgets and events of the app.
    ///   - finished: Called once, after all tasks have booted.
    ///   - serviceProviders: Makes the providers. Called when the service runs, because each task boots only once.
    public init(
        options: AppOptions = AppOptions(), finished: @escaping @Sendable () -> Void = {},
        serviceProviders: @escaping @Sendable () throws -> [any ServiceProvider]
    ) {
        (self.options, self.finished, self.serviceProviders) = (options, finished, serviceProviders)
    }

    /// Boots the app, and returns when the app has ended.
    ///
    /// - Throws: `AppError` if the boot or a task failed; ``AppOverBudget`` if the end exceeded its time budget.
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

/// The error of an ``AppService`` whose end exceeded its time budgets.
public struct AppOverBudget: Error, CustomStringConvertible {
    /// The outcome of the app.
    public let report: AppReport

    public var description: String { report.problems.joined(separator: "; ") }
}
#endif
