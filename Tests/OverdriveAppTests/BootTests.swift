import OverdriveApp
import TestSupport
import Testing

@Suite("The boot")
struct BootTests {
    @Test("starts tasks of any provider after those that they wait for, and ends with finished")
    func order() async throws {
        let log = Log<String>()
        let onboarding = noted("onboarding", log)
        let home = noted("home", log)
        home.addDependency(onboarding)
        let push = noted("push", log, after: [home])
        let app = AppTasks.build(
            serviceProviders: [AdditionsServices(), Provider([push, home]), Provider([onboarding])], options: testOptions()
        ) { log.note("finished") }
        try await app.booted()
        #expect(log.all == ["boot onboarding", "boot home", "boot push", "finished"])
        #expect(app.hasBooted)
        await app.over()
    }

    @Test("runs tasks in parallel where nothing keeps them from it")
    func parallel() async throws {
        let (first, second) = (Gate(), Gate())
        final class Meeting: AppTask, @unchecked Sendable {
            let (mine, other): (Gate, Gate)
            init(_ mine: Gate, _ other: Gate) { (self.mine, other: self.other) = (mine, other: other); super.init() }
            override func main() {
                super.main()
                mine.open()
                other.pass()
                setFinished()
            }
        }
        let app = try await AppTasks.booted([Meeting(first, second), Meeting(second, first)])
        await app.over()
    }

    @Test("waits for setFinished(), on whatever thread, and counts the first")
    func callback() async throws {
        let (log, gate) = (Log<String>(), Gate())
        final class Presenting: AppTask, @unchecked Sendable {
            let present: @Sendable (Presenting) -> Void
            init(_ present: @escaping @Sendable (Presenting) -> Void) { self.present = present; super.init() }
            override func main() { present(self) }
        }
        let screen = Presenting { screen in
            onThread {
                gate.pass()
                log.note("presented")
                screen.setFinished()
                screen.setFinished()
            }
        }
        let app = AppTasks.build([screen, noted("home", log, after: [screen])])
        #expect(!app.hasBooted)
        gate.open()
        try await app.booted()
        #expect(log.all == ["presented", "boot home"])
        await app.over()
    }

    @Test("runs asynchronous bodies, of a subclass as of a closure")
    func asynchronous() async throws {
        let log = Log<String>()
        final class Migrate: AsyncAppTask, @unchecked Sendable {
            let log: Log<String>
            init(_ log: Log<String>) { self.log = log; super.init() }
            override func main() async throws {
                await AsyncTask<Never, Never>.yield()
                log.note("migrated")
            }
        }
        let migrate = Migrate(log)
        let app = try await AppTasks.booted([migrate, noted("server", log, after: [migrate])])
        #expect(log.all == ["migrated", "boot server"])
        await app.over()
    }

    @Test("ends at once without tasks")
    func empty() async throws {
        let app = try await AppTasks.booted([])
        #expect(await app.over().exitCode == 0)
    }

    @Test("brings along what a task waits for and nobody has listed")
    func unlisted() async throws {
        let log = Log<String>()
        let base = noted("base", log)
        let providers: [any ServiceProvider] = [AdditionsServices(), Provider([noted("top", log, after: [base])])]
        let app = AppTasks.build(serviceProviders: providers, options: testOptions())
        try await app.booted()
        let report = await app.over()
        #expect(report.tasks.map(\.task) == ["top", "base"] && report.tasks.map(\.provider) == ["Provider", "Provider"])
        #expect(log.all == ["boot base", "boot top", "stop top", "stop base"])
    }

    @Test("knows a task through others of another kind in between, once, however many ways lead to it")
    func throughPlainTask() async throws {
        let log = Log<String>()
        let base = noted("base", log)
        let plain = Task.inline(dependencies: [base]) { log.note("plain") }
        let further = Task.inline(dependencies: [plain]) {}
        let top = AppTask("top", dependencies: [further, plain, base]) { log.note("boot top") } stop: { log.note("stop top") }
        let behind = AppTask("behind", dependencies: [Task.inline(dependencies: [further, plain]) {}]) {}
        let app = try await AppTasks.booted([base, top, behind])
        #expect(await app.over().tasks.map(\.dependencies) == [[], [0], [0]])
        #expect(log.all == ["boot base", "plain", "boot top", "stop top", "stop base"])
    }

    @Test("waits for a task of another app, which stays that app's")
    func dependencyOnAnotherApp() async throws {
        let (log, gate) = (Log<String>(), Gate())
        let others = (0..<5).map { number in noted("other \(number)", log) { gate.pass() } }
        let other = AppTasks.build(others)
        let mine = noted("mine", log, after: [others[4]])
        let app = AppTasks.build([mine])
        #expect(!app.hasBooted)
        gate.open()
        try await app.booted()
        let report = await app.over()
        #expect(report.tasks.map(\.task) == ["mine"] && report.tasks[0].dependencies == [])
        #expect(log.all.last == "stop mine")
        try await other.booted()
        await other.over()
        #expect(log.all.count { $0.hasPrefix("stop other") } == 5)
    }

    // MARK: - Failure

    @Test("fails with the task that failed; its dependents never start, and what had started is stopped in reverse order")
    func failure() async throws {
        let log = Log<String>()
        let a = noted("a", log)
        let b = noted("b", log, after: [a])
        let c = noted("c", log, after: [b]) { throw Broken() }
        let d = noted("d", log, after: [c])
        let app = AppTasks.build([a, b, c, d]) { log.note("finished") }
        let report = await app.ended()
        #expect(report.failure == .taskFailed(task: "\"c\"", reason: "the disk is full"))
        #expect(report.failure?.description == "the boot failed: \"c\" failed: the disk is full")
        #expect(report.exitCode == 1)
        #expect(log.all == ["boot a", "boot b", "boot c", "stop b", "stop a"])
        #expect(report.tasks.map(\.outcome) == [.stopped, .stopped, .failed, .notStarted] && !report.isOrderly)
        #expect(report.criticalPath.map(\.task) == ["a", "b", "c"])
        await #expect(throws: AppError.self) { try await app.booted() }
    }

    /// The second attempt was refused, as if the app had been about to end.
    @Test("attempts a task again that may be, and forgets what it said of the attempt before")
    func retries() async throws {
        final class Unsteady: AppTask, @unchecked Sendable {
            let attempts = Counter()
            override func main() {
                guard attempts.add() == 1 else { return setFinished() }
                fail(Broken())
                fail(Broken())
            }
        }
        let task = Unsteady()
        task.retry(1)
        let app = try await AppTasks.booted([task])
        let report = await app.over()
        #expect(task.attempts.count == 2 && report.failure == nil && report.exitCode == 0)
        #expect(report.notes == [] && report.tasks.map(\.outcome) == [.stopped])
    }

    @Test("fails when a task outlasts its limit, and names it")
    func limit() async {
        let log = Log<String>()
        final class Silent: AppTask, @unchecked Sendable {}
        let silent = Silent()
        silent.startLimit = .milliseconds(30)
        silent.stopBudget = .milliseconds(30)
        let app = AppTasks.build([noted("base", log), silent, noted("never", log, after: [silent])])
        let report = await app.ended()
        #expect(report.failure == .overLimit(task: "Silent", limit: .milliseconds(30)))
        #expect(report.exitCode == 1)
        #expect(log.all == ["boot base", "stop base"])
    }

    @Test("gives a task that says nothing of its limit a finite one")
    func finiteDefault() {
        #expect(AppOptions().startLimit == .seconds(60))
        #expect(AppOptions().stopBudget == .seconds(10))
        #expect(AppOptions().endBudget == .seconds(25))
    }

    @Test("fails when a task is cancelled before or while it runs")
    func cancelled() async {
        let task = noted("a", Log())
        let base = noted("base", Log()) { task.cancel() }
        task.addDependency(base)
        let report = await AppTasks.build([base, task]).ended()
        #expect(report.failure == .taskFailed(task: "\"a\"", reason: "it was cancelled"))
        let (begun, interrupted) = (Gate(), Counter())
        let sleeper = AppTask("sleeper") {
            begun.open()
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(36_000)) } catch {
                interrupted.add()
                throw error
            }
        }
        let app = AppTasks.build([sleeper])
        begun.pass()
        sleeper.cancel()
        #expect(await app.ended().failure == .taskFailed(task: "\"sleeper\"", reason: "it was cancelled"))
        #expect(eventually { interrupted.count == 1 })
    }

    @Test("refuses a task that is listed twice, or was started before")
    func twice() async throws {
        let task = noted("a", Log())
        let report = await AppTasks.build([task, task]).ended()
        #expect(report.failure == .addedTwice(task: "\"a\""))
        let other = noted("b", Log())
        let app = AppTasks.build([other])
        #expect(await AppTasks.build([other]).ended().failure == .addedTwice(task: "\"b\""))
        try await app.booted()
        await app.over()
        let started = noted("c", Log())
        started.start()
        #expect(await AppTasks.build([started]).ended().failure == .startedBefore(task: "\"c\""))
        // Without an app, too. It runs on Swift's threads, of which this is one.
        for _ in 0..<10_000 where !started.isFinished { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(1)) }
        #expect(started.isFinished)
    }

    @Test("fails with the provider that throws, for its modules or its tasks")
    func providers() async {
        struct NoModules: ServiceProvider {
            func modules() throws -> [Register] { throw Broken() }
        }
        struct NoTasks: ServiceProvider {
            var appTasks: [AppTask] { get throws { throw Broken() } }
        }
        for (provider, name) in [(NoModules() as any ServiceProvider, "NoModules"), (NoTasks(), "NoTasks")] {
            let app = AppTasks.build(serviceProviders: [provider], options: testOptions())
            #expect(await app.ended().failure == .providerFailed(provider: name, reason: "the disk is full"))
            // An app that never came to be is over, and takes nothing.
            #expect(app.isEnding && !app.hasBooted && app.post(AppSignal.hangup) == .postedAfterEnd(event: "AppSignal"))
        }
    }

    @Test("ends the program at a circle, and says the way round")
    func circle() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (a, b) = (AppTask("a") {}, AppTask("b") {})
            a.addDependency(b)
            b.addDependency(a)
        }
        let said = written(result?.standardErrorContent)
        #expect(said.contains("a circle (\"b\" waits for \"a\", \"a\" for \"b\")"), "\(said)")
    }

    @Test("says of a task without a body that it has none")
    func bodiless() async {
        let report = await AppTasks.build([AppTask()]).ended()
        #expect(report.failure?.description.contains("override main()") == true)
    }

    @Test("of ten thousand tasks in a chain takes no deep stack, nor does their end")
    func chain() async throws {
        var tasks: [AppTask] = []
        for _ in 0..<10_000 {
            let task = NoOpTask()
            if let last = tasks.last { task.addDependency(last) }
            tasks.append(task)
        }
        let app = try await AppTasks.booted(tasks)
        let report = await app.over()
        #expect(report.exitCode == 0)
        #expect(report.tasks.allSatisfy { $0.outcome == .stopped })
        #expect(zip(report.tasks, report.tasks.dropFirst()).allSatisfy { ($0.stopStarted ?? .zero) >= ($1.stopEnded ?? .zero) })
    }

    @Test("lets go of its tasks when it is over")
    func memory() async throws {
        let census = Census()
        do {
            let held = census.newborn()
            let task = AppTask("a") { held.touch() }
            let app = try await AppTasks.booted([task])
            await app.over()
        }
        #expect(eventually { census.alive == 0 })
    }

    // MARK: - The ancestor's cases

    protocol Foo: Sendable { func someFoo() -> Bool }
    protocol Bar: Sendable { func boolFunction() throws -> Bool }

    final class FooClass: Foo {
        let bar: Injected<any Bar>
        init(_ locator: ServiceLocator) { bar = Injected(in: locator) }
        func someFoo() -> Bool { (try? bar().boolFunction()) ?? false }
    }

    struct BarStub: Bar {
        let result: Result<Bool, any Error>
        func boolFunction() throws -> Bool { try result.get() }
    }

    @Test("has ended when all operations of the services have")
    func startupFinishedAfterServices() async throws {
        let finished = Gate()
        let log = Log<String>()
        let long = noted("long", log) { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(5)) }
        let app = AppTasks.build([long, noted("short", log), noted("dependent", log, after: [long])]) { finished.open() }
        finished.pass()
        #expect(Set(log.all) == ["boot long", "boot short", "boot dependent"])
        await app.over()
    }

    @Test("finds a stub that was registered after the boot", arguments: [true, false])
    func dependencyInjection(throwing: Bool) async throws {
        let options = testOptions()
        let locator = options.services
        let app = AppTasks.build(
            serviceProviders: [Provider([], registers: [Register((any Foo).self) { FooClass(locator) }])], options: options)
        try await app.booted()
        let stub = BarStub(result: throwing ? .failure(CancellationError()) : .success(true))
        locator.add { Register((any Bar).self) { stub } }
        let foo = Injected<any Foo>(in: locator)
        #expect(foo().someFoo() == !throwing)
        await app.over()
    }

    @Test("leaves a registered task to be injected as itself")
    func taskAsService() async throws {
        let options = testOptions()
        let task = noted("home", Log())
        let app = AppTasks.build(
            serviceProviders: [Provider([task], registers: [Register { task }])], options: options)
        #expect(options.services.module(for: AppTask.self) === task)
        try await app.booted()
        await app.over()
    }
}
