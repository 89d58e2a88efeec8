import Logging
import OverdriveApp
import OverdriveServiceLifecycle
import ServiceLifecycle
import Testing
import UnixSignals

/// An app as one service among others.
@Suite("An app as a service", .timeLimit(.minutes(1)))
struct AppServiceTests {
    private func group(_ services: [any Service]) -> ServiceGroup {
        ServiceGroup(services: services, logger: Logger(label: "test"))
    }

    private func options() -> AppOptions {
        var options = AppOptions()
        options.workers = 2
        options.services = ServiceLocator()
        return options
    }

    @Test("boots with its group, and ends in order at graceful shutdown")
    func graceful() async throws {
        let log = Log()
        let app = AppService(options: options(), finished: { log.note("finished") }) {
            let base = AppTask("base") { log.note("base up") } stop: { log.note("base stopped") }
            let top = AppTask("top", dependencies: [base]) { log.note("top up") } stop: { log.note("top stopped") }
            return [Provider(appTasks: [top, base])]
        }
        let group = group([Waiting(name: "telemetry", log: log), app])
        let running = _Concurrency.Task { try await group.run() }
        await log.has("finished")
        await group.triggerGracefulShutdown()
        try await running.value
        let own = log.all.filter { !$0.hasPrefix("telemetry") }
        #expect(own == ["base up", "top up", "finished", "top stopped", "base stopped"])
        // A group shuts its services down in reverse order: the app has ended before what was listed before it is told.
        #expect(log.all.last == "telemetry shut down")
    }

    @Test("whose boot fails has its group fail with the sentence that names the task")
    func failure() async throws {
        let app = AppService(options: options()) {
            [Provider(appTasks: [AppTask("database") { throw Broken() }])]
        }
        let error = await #expect(throws: AppError.self) { try await group([app]).run() }
        #expect(error?.description == "the boot failed: \"database\" failed: the disk is full")
    }

    @Test("whose providers cannot be made fails with their error")
    func providers() async throws {
        let app = AppService(options: options()) { throw Broken() }
        await #expect(throws: Broken.self) { try await group([app]).run() }
    }

    @Test("cancels what stops when its group is cancelled, and is over before the group is")
    func cancelled() async throws {
        let log = Log()
        let app = AppService(options: options(), finished: { log.note("finished") }) {
            let slow = AppTask("slow") {} stop: {
                do { try await _Concurrency.Task.sleep(for: .seconds(600)) } catch { log.note("slow cancelled") }
            }
            return [Provider(appTasks: [slow])]
        }
        let group = group([app])
        let running = _Concurrency.Task { try await group.run() }
        await log.has("finished")
        running.cancel()
        _ = await running.result
        #expect(log.all == ["finished", "slow cancelled"])
    }

    @Test("that ends over its budget throws, with what was stuck")
    func overBudget() async throws {
        let log = Log()
        var options = options()
        options.stopBudget = .milliseconds(50)
        let app = AppService(options: options, finished: { log.note("finished") }) {
            // Not even cancellation ends it.
            let stuck = AppTask("stuck") {} stop: {
                await withCheckedContinuation { continuation in
                    TaskQueue.global().asyncAfter(.seconds(2)) { continuation.resume() }
                }
            }
            return [Provider(appTasks: [stuck])]
        }
        let group = group([app])
        let running = _Concurrency.Task { try await group.run() }
        await log.has("finished")
        await group.triggerGracefulShutdown()
        let error = await #expect(throws: AppOverBudget.self) { try await running.value }
        #expect(error?.report.overBudget == ["\"stuck\""])
    }

    @Test("asked to shut down before it runs boots nothing for long")
    func early() async throws {
        let log = Log()
        let app = AppService(options: options()) {
            let base = AppTask("base") { log.note("up") } stop: { log.note("stopped") }
            return [Provider(appTasks: [base])]
        }
        let group = group([app])
        await group.triggerGracefulShutdown()
        try await group.run()
        #expect(log.all == [] || log.all == ["up", "stopped"])
    }

    @Test("holds an app whose task is a group's service: both ways at once")
    func bothWays() async throws {
        let log = Log()
        let app = AppService(options: options(), finished: { log.note("finished") }) {
            [Provider(appTasks: [ServiceTask(Waiting(name: "inner", log: log))])]
        }
        let group = group([app])
        let running = _Concurrency.Task { try await group.run() }
        await log.has("inner runs")
        await log.has("finished")
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(log.all.last == "inner shut down")
    }
}
