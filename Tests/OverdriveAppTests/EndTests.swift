import Synchronization
import TestSupport
import Testing

@testable import OverdriveApp

@Suite("The end")
struct EndTests {
    @Test("stops tasks in reverse order, those that are independent beside each other")
    func reverse() async throws {
        let log = Log<String>()
        let base = noted("base", log)
        let left = noted("left", log, after: [base])
        let right = noted("right", log, after: [base])
        let top = noted("top", log, after: [left, right])
        let app = try await AppTasks.booted([top, left, right, base])
        let report = await app.over()
        let stops = log.all.filter { $0.hasPrefix("stop") }
        #expect(stops.first == "stop top" && stops.last == "stop base")
        #expect(Set(stops.dropFirst().dropLast()) == ["stop left", "stop right"])
        #expect(report.exitCode == 0 && report.isOrderly)
        #expect(report.endReason == "the program asked for it")
        try await app.booted()  // it had
    }

    @Test("asks a body that is about to run to come to its end, too")
    func askedBeforeItRuns() async throws {
        let interrupted = Counter()
        let task = AppTask("early") {
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(36_000)) } catch { interrupted.add() }
        }
        task.askToEnd()
        task.start()
        for _ in 0..<10_000 where interrupted.count == 0 { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(1)) }
        #expect(interrupted.count == 1)
    }

    @Test("may be asked for before anything runs, and again")
    func early() async {
        let log = Log<String>()
        let app = AppTasks.build((0..<20).map { noted("\($0)", log) }) { log.note("finished") }
        app.end()
        app.end()
        let report = await app.ended()
        #expect(report.exitCode == 0)
        let (boots, stops) = (log.all.filter { $0.hasPrefix("boot") }, log.all.filter { $0.hasPrefix("stop") })
        #expect(Set(boots.map { $0.dropFirst(5) }).isSuperset(of: stops.map { $0.dropFirst(5) }))
    }

    @Test("asks bodies that boot to come to their end, and stops what they need only then")
    func whileBooting() async throws {
        let (log, started) = (Log<String>(), Gate())
        let base = noted("base", log)
        let migration = AppTask("migration", dependencies: [base]) {
            started.open()
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(600)) } catch {
                log.note("interrupted")
                throw error
            }
        }
        let app = AppTasks.build([base, migration, noted("server", log, after: [migration])])
        started.pass()
        let report = await app.over()
        #expect(log.all == ["boot base", "interrupted", "stop base"])
        #expect(report.exitCode == 0 && report.failure == nil)
        #expect(report.tasks.map(\.outcome) == [.stopped, .failed, .notStarted])
    }

    @Test("waits for a body that waits for its callback, asks it to hurry, and stops what has booted after all")
    func callbackWhileBooting() async throws {
        final class Waiting: AppTask, @unchecked Sendable {
            let (log, begun): (Log<String>, Gate)
            init(_ log: Log<String>, _ begun: Gate) { (self.log, self.begun) = (log, begun); super.init() }
            override func main() { begun.open() }
            override func interrupt() {
                log.note("interrupted")
                setFinished()
            }
            override func stop() async throws { log.note("stop waiting") }
        }
        let (log, begun) = (Log<String>(), Gate())
        let base = noted("base", log)
        let waiting = Waiting(log, begun)
        waiting.addDependency(base)
        let app = AppTasks.build([base, waiting])
        begun.pass()
        let report = await app.over()
        #expect(log.all == ["boot base", "interrupted", "stop waiting", "stop base"])
        #expect(report.exitCode == 0)
    }

    @Test("gives a task up that has spent its budget, goes on, and says so")
    func budget() async throws {
        let (log, gate) = (Log<String>(), Gate())
        defer { gate.open() }
        let base = noted("base", log)
        let stuck = AppTask("stuck", dependencies: [base]) {} stop: { gate.pass() }
        (base.stopBudget, stuck.stopBudget) = (.seconds(20), .milliseconds(20))
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(20), .milliseconds(200)) }
        let app = try await AppTasks.booted([base, stuck], options: options)
        let report = await app.over()
        #expect(log.all == ["boot base", "stop base"])
        #expect(report.overBudget == ["\"stuck\""])
        #expect(report.exitCode == 2)
        #expect(report.closures?.stuck == 1)
        #expect(report.problems.contains("a task has not ended within the budget: \"stuck\""))
    }

    /// Its budget runs from the end's beginning, as that of one which stops.
    @Test("gives a task up that boots and does not heed it, and stops what it needed")
    func budgetOfBooting() async {
        let (log, begun, gate) = (Log<String>(), Gate(), Gate())
        defer { gate.open() }
        let base = noted("base", log)
        let stuck = AppTask("stuck", dependencies: [base]) { begun.open(); gate.pass() }
        (base.stopBudget, stuck.stopBudget) = (.seconds(20), .milliseconds(20))
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(20), .milliseconds(200)) }
        let app = AppTasks.build([base, stuck], options: options)
        begun.pass()
        let report = await app.over()
        #expect(log.all == ["boot base", "stop base"])
        #expect(report.overBudget == ["\"stuck\""] && report.exitCode == 2 && stuck.isCancelled)
    }

    @Test("cancels a stop that has spent its budget")
    func budgetOfPatientStop() async throws {
        let cancelled = Counter()
        let patient = AppTask("patient") {} stop: {
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(600)) } catch { cancelled.add() }
        }
        patient.stopBudget = .milliseconds(20)
        let app = try await AppTasks.booted([patient])
        let report = await app.over()
        #expect(report.overBudget == ["\"patient\""])
        for _ in 0..<10_000 where cancelled.count == 0 { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(1)) }
        #expect(cancelled.count == 1)
    }

    @Test("stops what says that it has booted after it was given up")
    func late() async throws {
        final class Late: AppTask, @unchecked Sendable {
            let stopped = Gate()
            override func stop() async throws { stopped.open() }
        }
        let (late, stopping, gate) = (Late(), Gate(), Gate())
        let base = AppTask("base") {} stop: { stopping.open(); gate.pass() }
        late.addDependency(base)
        late.stopBudget = .milliseconds(20)
        let app = AppTasks.build([base, late])
        #expect(eventually { late.place == .booting })
        app.end()
        stopping.pass()
        late.setFinished()
        #expect(late.stopped.pass(within: 60))
        gate.open()
        let notes = await app.ended().notes
        #expect(notes == ["Late booted only after the app had given it up, and was stopped at once"])
    }

    @Test("cancels at once what it keeps from starting, and not when what that waits for is over")
    func withdrawn() async {
        let (begun, gate) = (Gate(), Gate())
        let slow = AppTask("slow") { begun.open(); gate.pass() }
        let behind = AppTask("behind", dependencies: [slow]) {}
        let app = AppTasks.build([slow, behind])
        begun.pass()
        app.end()
        #expect(eventually { behind.isCancelled })
        gate.open()
        #expect(await app.ended().tasks.map(\.outcome) == [.stopped, .notStarted])
    }

    /// One that was spent before the app's own thread had looked for the first time left a report that named nobody.
    @Test("is over when the whole budget is spent, whatever the tasks' are, and names who has not ended", arguments: [0, 200])
    func wholeBudget(milliseconds: Int) async throws {
        let gate = Gate()
        defer { gate.open() }
        let options = testOptions { $0.endBudget = .milliseconds(milliseconds) }
        let app = try await AppTasks.booted([AppTask("stuck") {} stop: { gate.pass() }], options: options)
        let report = await app.over()
        #expect(report.overBudget == ["\"stuck\""] && report.exitCode == 2)
    }

    @Test("takes budgets that are as long as time is for endless ones", arguments: [Int64.max, Int64.max / 1_000_000_000])
    func endless(seconds: Int64) async throws {
        let options = testOptions {
            ($0.startLimit, $0.stopBudget, $0.endBudget) = (.seconds(seconds), .seconds(seconds), .seconds(seconds))
        }
        let app = try await AppTasks.booted([AppTask("a") {}], options: options)
        #expect(await app.over().exitCode == 0)
        #expect(Duration.seconds(-seconds).nanosecondCount < 0)
    }

    @Test("that is asked for when the last task has booted keeps finished() from being called")
    func behindTheLastTask() async {
        let (isOpen, finished) = (Counter(), Counter())
        let last = AppTask("last") {
            while isOpen.count == 0 { try await AsyncTask<Never, Never>.sleep(for: .milliseconds(1)) }
        }
        let app = AppTasks.build([last], options: testOptions { $0.workers = 1 }) { finished.add() }
        // Behind the app's own handler, on its only worker.
        last.onCompletion { app.end() }
        isOpen.add()
        let report = await app.ended()
        #expect(finished.count == 0 && report.bootTime == nil && report.failure == nil)
        await #expect(throws: AppError.self) { try await app.booted() }
    }

    @Test("that is asked for more urgently while closures are waited for waits a moment more")
    func hurriedDrain() async throws {
        let gate = Gate()
        defer { gate.open() }
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(60), .seconds(60)) }
        let app = try await AppTasks.booted([], options: options)
        TaskQueue(scheduler: app.scheduler).async { gate.pass() }
        app.end()
        // Mostly it waits for the closure then.
        try await AsyncTask<Never, Never>.sleep(for: .milliseconds(100))
        app.end(cancelling: true)
        let report = await app.ended()
        #expect(report.closures?.stuck == 1)
        #expect(try #require(report.endTime) < .seconds(40))
    }

    @Test("that is asked for more urgently cancels what stops, still in reverse order")
    func cancelling() async throws {
        let (log, stopping) = (Log<String>(), Gate())
        @Sendable func patient(_ name: String, after dependencies: [AppTask] = []) -> AppTask {
            AppTask(name, dependencies: dependencies) {} stop: {
                stopping.open()
                do { try await AsyncTask<Never, Never>.sleep(for: .seconds(600)) } catch { log.note(name) }
            }
        }
        let base = patient("base")
        let app = try await AppTasks.booted([base, patient("top", after: [base])])
        app.end()
        stopping.pass()
        app.end(cancelling: true)
        #expect(await app.ended().exitCode == 0)
        #expect(log.all == ["top", "base"])
    }

    @Test("runs the closures that its queues hold")
    func closures() async throws {
        let ran = Counter()
        let app = try await AppTasks.booted([])
        let queue = TaskQueue.serial(label: "uploads", scheduler: app.scheduler)
        for _ in 0..<1000 { queue.async { ran.add() } }
        let report = await app.over()
        #expect(ran.count == 1000)
        #expect(report.closures?.cancelled == 0)
    }

    @Test("counts the closures of other queues that there was no time for")
    func otherQueues() async throws {
        let gate = Gate()
        let options = testOptions { $0.endBudget = .seconds(1) }
        let app = try await AppTasks.booted([], options: options)
        let queue = TaskQueue.serial(label: "elsewhere")
        app.drainAtEnd(queue)
        queue.async { gate.pass() }
        for _ in 0..<10 { queue.async {} }
        let report = await app.over()
        gate.open()
        #expect(report.discardedClosures == 10)
        #expect(report.problems.contains("10 closures of other queues were discarded"))
    }

    /// After a task that never stopped they have a task's budget, and not each of the two.
    @Test("waits for its own closures while it waits for those of other queues")
    func bothStuck() async throws {
        let gate = Gate()
        defer { gate.open() }
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(30), .seconds(2)) }
        let app = try await AppTasks.booted([AppTask("stuck") {} stop: { gate.pass() }], options: options)
        let (own, other) = (TaskQueue(scheduler: app.scheduler), TaskQueue())
        app.drainAtEnd(other)
        for queue in [own, other] { queue.async { gate.pass() } }
        let report = await app.over()
        #expect(report.closures?.stuck == 2)  // The task's stop is one.
        #expect(try #require(report.endTime) < .seconds(5.5))
    }

    @Test("notes the error of a stop, and goes on")
    func stopThrows() async throws {
        let app = try await AppTasks.booted([AppTask("a") {} stop: { throw Broken() }])
        let report = await app.over()
        #expect(report.exitCode == 0)
        #expect(report.notes == ["\"a\" failed to stop: the disk is full"])
    }

    @Test("comes when a task fails that had booted, in order, and the report names it")
    func failsLater() async throws {
        let log = Log<String>()
        let (base, server) = (noted("base", log), noted("server", log))
        server.addDependency(base)
        let app = try await AppTasks.booted([base, server])
        server.fail(Broken())
        let report = await app.ended()
        #expect(report.failure == .failedLater(task: "\"server\"", reason: "the disk is full"))
        #expect(report.exitCode == 1 && report.endReason == "a task failed")
        #expect(log.all.suffix(2) == ["stop server", "stop base"])
    }

    @Test("has a note of a task that fails while it runs, and of each that fails after the first")
    func failsWhileEnding() async throws {
        let (gate, stopping) = (Gate(), Gate())
        let task = AppTask("slow") {} stop: {
            stopping.open()
            gate.pass()
        }
        let app = try await AppTasks.booted([task])
        app.end()
        stopping.pass()
        task.fail(Broken())
        gate.open()
        let report = await app.ended()
        #expect(report.exitCode == 0 && report.failure == nil)
        #expect(report.notes == ["\"slow\" failed after it had booted: the disk is full"])
    }

    /// The failure came where the boot's attempt had an end already, and the task was not yet seen to be up.
    @Test("is brought about by a failure that another thread's success crosses", arguments: [true, false])
    func crossingFailure(successFirst: Bool) async {
        final class Crossing: NoOpTask, @unchecked Sendable {
            let successFirst: Bool
            init(_ successFirst: Bool) {
                self.successFirst = successFirst
                super.init()
                onCompletion { [unowned self] _ in
                    if successFirst { fail(Broken()) } else { setFinished() }
                }
            }
            override func main() {
                if successFirst { finish(with: .success(())) } else { fail(Broken()) }
            }
        }
        let app = AppTasks.build([Crossing(successFirst)])
        let hasEnded = eventually { app.isEnding }
        #expect(hasEnded)
        let report = await app.over()
        #expect(report.failure == .failedLater(task: "Crossing", reason: "the disk is full"))
        #expect(report.exitCode == 1)
        #expect(report.tasks.map(\.outcome) == [.stopped])
    }

    @Test("leaves closures that run a moment, where it is in a hurry")
    func hurry() async throws {
        let gate = Gate()
        let slow = AppTask("slow") {} stop: { try? await AsyncTask<Never, Never>.sleep(for: .seconds(36_000)) }
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(36_000), .seconds(36_000)) }
        let app = try await AppTasks.booted([slow], options: options)
        TaskQueue(scheduler: app.scheduler).async { gate.pass() }
        #expect(eventually { gate.arrivals == 1 })
        app.end(cancelling: true)
        #expect(await app.ended().closures?.stuck == 1)
        gate.open()
    }

    /// A boot that no thread looks after.
    private func booting(_ tasks: [AppTask]) throws -> (Lifecycle, AppGraph) {
        let options = testOptions { ($0.endBudget, $0.stopBudget) = (.seconds(36_000), .seconds(3600)) }
        let graph = try AppGraph(of: [Provider(tasks)])
        let lifecycle = Lifecycle(
            options: options, scheduler: makeScheduler(), graph: graph, wake: try #require(WakePipe()), ownsProcess: false,
            startedAt: monotonicNow(), state: Lifecycle.State(notes: []))
        lifecycle.start(tasks)
        #expect(eventually { tasks.allSatisfy { $0.startedAt.load(ordering: .acquiring) > 0 } })
        return (lifecycle, graph)
    }

    private func ending(_ tasks: [AppTask], answering answers: Counter? = nil) throws -> (Lifecycle, EndConductor) {
        let (lifecycle, graph) = try booting(tasks)
        if let answers { lifecycle.whenBooted { _ in answers.add() } }
        lifecycle.end(.requested)
        return (lifecycle, EndConductor(of: lifecycle, graph: graph))
    }

    @Test("answers who waits for the boot once, however often it is asked for")
    func answersOnce() throws {
        let (gate, answers) = (Gate(), Counter())
        defer { gate.open() }
        let (lifecycle, _) = try ending([AppTask("slow") { gate.pass() }], answering: answers)
        defer { lifecycle.living.end() }
        lifecycle.end(.requested)
        #expect(answers.count == 1 && lifecycle.state.withLock { $0.urgency } == 0)
    }

    @Test("that a limit brings about is not looked for later than the limit of who has started late")
    func dueLimit() throws {
        let gate = Gate()
        defer { gate.open() }
        let task = AppTask("slow") { gate.pass() }
        let (lifecycle, graph) = try booting([task])
        defer { lifecycle.living.end() }
        let (supervisor, started) = (Supervisor(of: lifecycle, graph: graph, signals: nil), task.startedAt.load(ordering: .acquiring))
        supervisor.checkLimits(started + 1_000_000_000)
        #expect(supervisor.nextLimit == started + 60_000_000_000)
    }

    /// It was due again and again, from a quarter of a second before that on.
    @Test("is next looked after at its whole budget's end when its queues are being drained")
    func lastDeadline() throws {
        let before = monotonicNow()
        let (lifecycle, end) = try ending([])
        let gate = Gate()
        defer { gate.open() }
        TaskQueue(scheduler: lifecycle.scheduler).async { gate.pass() }
        _ = end.conduct(now: monotonicNow(), isCancelling: false)
        let last = end.nextDeadline
        #expect(last > before + 36_000_000_000_000)
        #expect(!end.conduct(now: last - 1, isCancelling: false) && end.conduct(now: last, isCancelling: false))
    }

    @Test("leaves its queues the last quarter of a second, and cancels a stop that goes on into it")
    func timeOfQueues() throws {
        let (up, stopping, cancelled) = (Gate(), Gate(), Counter())
        let task = AppTask("slow") { up.pass() } stop: {
            stopping.open()
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(36_000)) } catch { cancelled.add() }
        }
        task.stopBudget = .seconds(72_000)
        let (lifecycle, end) = try ending([task])
        defer { lifecycle.living.end() }
        up.open()
        #expect(eventually { !end.conduct(now: monotonicNow(), isCancelling: false) && task.place == .stopping })
        stopping.pass()
        let last = lifecycle.state.withLock { $0.endsSince } + 36_000_000_000_000 - 250_000_000
        #expect(eventually { end.conduct(now: last, isCancelling: false) })
        #expect(eventually { cancelled.count == 1 })
    }

    @Test("that is asked for more urgently cancels what boots")
    func cancellingBoot() throws {
        final class Silent: AppTask, @unchecked Sendable {}
        let silent = Silent()
        let (lifecycle, end) = try ending([silent])
        defer { lifecycle.living.end() }
        _ = end.conduct(now: monotonicNow(), isCancelling: false)
        #expect(!silent.isCancelled)
        _ = end.conduct(now: monotonicNow(), isCancelling: true)
        #expect(eventually { silent.isCancelled })
    }

    /// It was given up when the budget was spent in which it could have come to its boot's end.
    @Test("gives a task that has booted after all another budget for its stop")
    func budgetAfterBoot() throws {
        let (up, told, gate, cancelled) = (Gate(), Gate(), Gate(), Log<Bool>())
        let task = AppTask("late") { up.pass() } stop: {
            gate.pass()
            cancelled.note(AsyncTask<Never, Never>.isCancelled)
        }
        task.onCompletion { _ in told.pass() }
        let (lifecycle, end) = try ending([task])
        defer { lifecycle.living.end() }
        let spent = monotonicNow() + 3_600_000_000_000
        _ = end.conduct(now: monotonicNow(), isCancelling: false)
        up.open()
        #expect(eventually { task.place == .up })
        _ = end.conduct(now: spent, isCancelling: false)  // and the end is not told yet
        #expect(end.nextDeadline > spent)
        told.open()
        #expect(eventually { end.conduct(now: monotonicNow(), isCancelling: false) || task.place == .stopping })
        try #require(task.place == .stopping)
        _ = end.conduct(now: spent, isCancelling: false)
        gate.open()
        #expect(eventually { !cancelled.all.isEmpty } && cancelled.all == [false])
    }

    @Test("comes when a task fails that had booted before the boot was over, which fails")
    func failsBeforeTheRest() async throws {
        let gate = Gate()
        let early = noted("early", Log())
        let app = AppTasks.build([early, AppTask("slow") { gate.pass() }])
        #expect(eventually { app.reduce(0) { count, _ in count + 1 } == 1 })
        early.fail(Broken())
        gate.open()
        let report = await app.ended()
        #expect(report.failure == .failedLater(task: "\"early\"", reason: "the disk is full"))
        #expect(report.exitCode == 1 && report.endReason == "the boot failed")
        await #expect(throws: AppError.self) { try await app.booted() }
    }
}
