import Glibc
import TestSupport
import Testing

@testable import OverdriveApp

@Suite("Events")
struct EventTests {
    struct Ping: AppEvent { let number: Int }

    final class Listener: NoOpTask, @unchecked Sendable {
        let log = Log<Int>()
        override func receive(_ event: any AppEvent) { if let ping = event as? Ping { log.note(ping.number) } }
    }

    @Test("that wake the app's thread do so however they meet")
    func wakePipe() throws {
        let pipe = try #require(WakePipe())
        let (posted, total) = (Counter(), 100_000)
        onThread {
            for _ in 0..<total {
                posted.add()
                pipe.poke()
            }
        }
        var seen = 0
        while seen < total {
            var descriptor = pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)
            try #require(poll(&descriptor, 1, 60_000) == 1, "asleep at \(seen) of \(posted.count)")
            _ = pipe.drain()
            seen = posted.count
        }
    }

    @Test("that wake the app's thread come by a pipe that no program inherits, and that is closed with the app")
    func ownPipe() {
        var pipe = WakePipe()
        let ends = [pipe?.reading, pipe?.writing].map { $0 ?? -1 }
        let name = link(ends[0])
        #expect(name.hasPrefix("pipe:") && links { $0 == name }.count == 2)
        #expect(ends.allSatisfy { fcntl($0, F_GETFD) == FD_CLOEXEC })
        pipe = nil
        #expect(links { $0 == name } == [])
    }

    @Test("wait for the end of the boot, in order, then come live, once to each listener")
    func buffered() async throws {
        let gate = Gate()
        let listeners = [Listener(), Listener(), Listener()]
        let holdUp = AppTask("slow") { gate.pass() }
        let apps = Log<AppTasks>()
        let app = AppTasks.build(listeners + [holdUp]) {
            // What comes from inside finished() waits, too.
            apps.all.first?.post(Ping(number: 200))
        }
        apps.note(app)
        for number in 0..<100 { #expect(app.post(Ping(number: number)) == nil) }
        #expect(listeners.allSatisfy { $0.log.all.isEmpty })
        gate.open()
        try await app.booted()
        for number in 100..<200 { app.post(Ping(number: number)) }
        let report = await app.over()
        let numbers = listeners.map(\.log.all)
        #expect(numbers.allSatisfy { $0 == Array(0..<100) + [200] + Array(100..<200) })
        #expect(report.events.delivered == report.events.accepted)
    }

    @Test("that wait since before the boot are heard before a visit that is made after it")
    func visitBehindWhatWaits() async throws {
        final class HeldListener: NoOpTask, @unchecked Sendable {
            let log = Log<Int>()
            let gate = Gate()
            override func receive(_ event: any AppEvent) {
                guard let ping = event as? Ping else { return }
                if ping.number == 0 { gate.pass() }
                log.note(ping.number)
            }
        }
        let (listener, boot) = (HeldListener(), Gate())
        let app = AppTasks.build([listener, AppTask("slow") { boot.pass() }])
        app.post(Ping(number: 0))
        boot.open()
        try await app.booted()
        app.post(Ping(number: 1))
        app.forEach { ($0 as? HeldListener)?.log.note(1000) }
        listener.gate.open()
        _ = await app.over()
        #expect(listener.log.all == [0, 1, 1000])
    }

    @Test("of many threads are each heard once")
    func ledger() async throws {
        let listener = Listener()
        let options = testOptions { $0.eventCapacity = 100_000 }
        let app = AppTasks.build([listener], options: options)
        onThreads(8) { thread in
            for number in 0..<1000 { app.post(Ping(number: thread * 1000 + number)) }
        }
        let report = await app.over()
        let heard = report.events.delivered == 0 ? [] : listener.log.all
        if report.events.delivered > 0 {
            #expect(heard.sorted() == Array(0..<8000))
            for thread in 0..<8 {
                let mine = heard.filter { $0 / 1000 == thread }
                #expect(mine == mine.sorted())
            }
        }
        #expect(report.events.accepted == 8000)
    }

    @Test("beyond the capacity are refused with a sentence, or the oldest is dropped; both are counted")
    func bounded() async throws {
        for policy in [AppOptions.EventPolicy.refuseNewest, .dropOldest] {
            let (gate, listener) = (Gate(), Listener())
            let options = testOptions { $0.eventCapacity = 3; $0.eventPolicy = policy }
            let app = AppTasks.build([listener, AppTask("slow") { gate.pass() }], options: options)
            let answers = (0..<5).map { app.post(Ping(number: $0)) }
            gate.open()
            try await app.booted()
            let report = await app.over()
            if policy == .refuseNewest {
                #expect(answers.map { $0 == nil } == [true, true, true, false, false])
                #expect(answers[4]?.description.contains("because 3 events are already waiting") == true)
                #expect(listener.log.all == [0, 1, 2])
                #expect(report.events == (3, 3, 2, 0))
            } else {
                #expect(answers.allSatisfy { $0 == nil })
                #expect(listener.log.all == [2, 3, 4])
                #expect(report.events == (5, 3, 0, 2))
            }
        }
    }

    @Test("that are dropped for newer ones leave the visits where they are, and these take no event's room",
          arguments: [AppOptions.EventPolicy.refuseNewest, .dropOldest])
    func boundedBesideVisits(policy: AppOptions.EventPolicy) async throws {
        let (gate, listener) = (Gate(), Listener())
        let options = testOptions { $0.eventCapacity = 2; $0.eventPolicy = policy }
        let app = AppTasks.build([listener, AppTask("slow") { gate.pass() }], options: options)
        func visit(_ number: Int) { app.forEach { ($0 as? Listener)?.log.note(number) } }
        for number in 0..<100 { visit(1000 + number) }
        app.post(Ping(number: 0))
        visit(2000)
        for number in 1..<4 { app.post(Ping(number: number)) }
        visit(3000)
        gate.open()
        try await app.booted()
        let report = await app.over()
        let events = policy == .dropOldest ? [2000, 2, 3, 3000] : [0, 2000, 1, 3000]
        #expect(listener.log.all == Array(1000..<1100) + events)
        #expect(report.events == (policy == .dropOldest ? (4, 2, 0, 2) : (2, 2, 2, 0)))
    }

    @Test("posted after the end are refused with a sentence, and counted")
    func afterEnd() async throws {
        let gate = Gate()
        let app = try await AppTasks.booted([Listener(), AppTask("held") {} stop: { gate.pass() }])
        app.end()
        #expect(app.post(Ping(number: 1)) == .postedAfterEnd(event: "Ping"))
        app.post(MemoryPressure(threshold: .init(stall: .milliseconds(1))))
        gate.open()  // the report is made only then
        let report = await app.ended()
        #expect(report.events.refused == 2)
        // Of the first.
        #expect(report.notes.filter { $0.contains("after the shutdown had begun") }.map { $0.contains("Ping") } == [true])
        #expect(app.post(Ping(number: 2)) != nil)
    }

    @Test("reach closures that listen to their type alone")
    func typed() async throws {
        struct Other: AppEvent {}
        let log = Log<Int>()
        let task = NoOpTask()
        task.listen(for: Ping.self) { log.note($0.number) }
        let app = try await AppTasks.booted([task], options: testOptions { $0.eventCapacity = 2 })
        app.post(Other())
        app.post(Ping(number: 7))
        #expect(eventually { log.all == [7] })
        // What was heard takes no room.
        for number in 8..<12 { #expect(app.post(Ping(number: number)) == nil && eventually { log.all.last == number }) }
        await app.over()
    }

    @Test("that came before a boot which failed are heard by nobody, and the report says so")
    func failedBoot() async {
        let gate = Gate()
        let listener = Listener()
        let app = AppTasks.build([listener, AppTask("broken") { gate.pass(); throw Broken() }])
        app.post(Ping(number: 1))
        gate.open()
        let report = await app.ended()
        #expect(listener.log.all.isEmpty)
        #expect(report.notes.contains { $0.contains("1 events or visits that had been accepted were received by no task") })
    }

    @Test("and visits wait in one line; an error of a visit that waited is in the report, of a later one the caller's")
    func visits() async throws {
        let (gate, log) = (Gate(), Log<String>())
        let app = AppTasks.build([noted("a", Log()), AppTask("slow") { gate.pass() }])
        app.forEach { log.note("first \($0.name ?? "")") }
        try app.forEach { _ in throw Broken() }
        app.forEach { log.note("second \($0.name ?? "")") }
        #expect(log.all.isEmpty)
        gate.open()
        try await app.booted()
        #expect(eventually { log.all.count == 4 })
        #expect(log.all == ["first a", "first slow", "second a", "second slow"])
        #expect(eventually { (try? app.forEach { _ in throw Broken() }) == nil })
        #expect(app.reduce(0) { count, _ in count + 1 } == 2)
        let report = await app.over()
        #expect(report.notes.contains { $0.contains("threw: the disk is full") })
    }

    @Test("end, and a visit that comes then is made at once to those that are up, where the boot was not over")
    func visitBehindTheEnd() async throws {
        let (begun, gate, log) = (Gate(), Gate(), Log<String>())
        let base = noted("base", Log())
        let app = AppTasks.build([base, AppTask("slow", dependencies: [base]) { begun.open(); gate.pass() }])
        begun.pass()
        app.end()
        app.forEach { log.note($0.name ?? "") }
        #expect(log.all == ["base"])
        gate.open()
        await app.over()
        #expect(log.all == ["base"])
    }

    @Test("allSatisfy answers truly: of those that have booted, or asynchronously of all")
    func allSatisfy() async throws {
        let gate = Gate()
        let app = AppTasks.build([noted("a", Log()), AppTask("b") { gate.pass() }])
        #expect(eventually { app.reduce(0) { count, _ in count + 1 } == 1 })
        func now(is name: String) -> Bool { app.allSatisfy { $0.name == name } }
        #expect(!now(is: "b") && now(is: "a"))
        gate.open()
        #expect(try await app.allSatisfy { $0.name == "a" } == false)
        #expect(try await app.allSatisfy { $0.name != nil })
        // Nothing has waited: a visit is made at once, and its error is the caller's.
        #expect(throws: Broken.self) { try app.forEach { _ in throw Broken() } }
        await app.over()
    }

    @Test("hold nobody up at the end when a listener is stuck, nor who is in a hurry, whatever the budgets are", arguments: [false, true])
    func stuckListener(isUrgent: Bool) async throws {
        final class Stuck: NoOpTask, @unchecked Sendable {
            let (hears, gate) = (Gate(), Gate())
            override func receive(_ event: any AppEvent) {
                hears.open()
                gate.pass()
            }
        }
        let stuck = Stuck()
        defer { stuck.gate.open() }
        let options = testOptions {
            $0.stopBudget = isUrgent ? .seconds(36_000) : .milliseconds(50)
            $0.endBudget = isUrgent ? .seconds(36_000) : .seconds(1)
        }
        let app = try await AppTasks.booted([stuck], options: options)
        app.post(Ping(number: 1))
        stuck.hears.pass()
        app.end(cancelling: isUrgent)
        let report = await app.ended()
        #expect(report.exitCode == 2)
        #expect(report.closures.map(\.stuck) ?? 1 == 1)  // or the second was over before they were counted
        #expect(report.events == (1, 0, 0, 0) && report.notes.map { $0.prefix(9) } == ["1 events "])  // the one that it hears
    }

    @Test("that wait behind a stuck listener until tasks are stopped are no delivered ones, and the report says so")
    func behindStuckListener() async throws {
        final class Stuck: NoOpTask, @unchecked Sendable {
            let gate = Gate()  // who comes to it has heard an event
            override func receive(_ event: any AppEvent) { gate.pass() }
            override func stop() async throws {
                gate.open()
                // What waited has its turn, before the report is made.
                try await ContinuousClock().sleep(for: .milliseconds(100))
            }
        }
        let options = testOptions { $0.stopBudget = .milliseconds(200); $0.endBudget = .seconds(600) }
        let stuck = Stuck()
        stuck.stopBudget = .seconds(30)
        let app = try await AppTasks.booted([stuck], options: options)
        for number in 0..<3 { app.post(Ping(number: number)) }
        let report = await app.over()
        #expect(report.events == (3, 0, 0, 0) && stuck.gate.arrivals == 1)  // it was stopped when the others came
        #expect(try #require(report.endTime) < .seconds(50))
        #expect(
            report.notes == [
                "3 events or visits that had been accepted were not received by every task: they were still waiting when the tasks were stopped"
            ])
    }

    @Test("of memory pressure come when the kernel says so, and a note where it cannot")
    func pressure() throws {
        var said: [String] = []
        #expect(PressureSource(.init(), files: ["/nowhere/memory.pressure"]) { said.append($0) } == nil)
        #expect(said.count == 1 && said[0].hasPrefix("memory pressure is not reported: /nowhere/memory.pressure: "))
        #expect(PressureSource.files().last == "/proc/pressure/memory")
    }

    /// Memory cannot be made short in a test. The kernel says it of processors in the same way, and of these there are few.
    private static let isPressureTold =
        PressureSource(.init(stall: .milliseconds(50)), files: ["/proc/pressure/cpu"], note: { _ in }) != nil

    @Test("of the kernel's pressure come from the process's own control group to the tasks that listen",
          .enabled(if: isPressureTold, "a kernel without pressure information, or one that lets nobody ask"))
    func kernelPressure() async throws {
        // A control group as the kernel shows it, whose memory is the processors.
        let folder = try TemporaryFolder()
        try folder.write("2:memory:/elsewhere\n0::/service\n", to: "membership")
        try #require(mkdir("\(folder.path)/service", 0o700) == 0)
        defer {
            unlink("\(folder.path)/service/memory.pressure")
            rmdir("\(folder.path)/service")
        }
        try #require(symlink("/proc/pressure/cpu", "\(folder.path)/service/memory.pressure") == 0)
        let files = PressureSource.files(membership: "\(folder.path)/membership", root: folder.path)
        #expect(files == ["/service/", "/unified/service/"].map { folder.path + $0 + "memory.pressure" } + ["/proc/pressure/memory"])

        let (heard, done) = (Log<MemoryPressure>(), Counter())
        let cache = NoOpTask()
        cache.listen(for: MemoryPressure.self) { heard.note($0) }
        let options = testOptions { $0.memoryPressure = .init(stall: .milliseconds(50)); $0.pressureFiles = files }
        let app = try await AppTasks.booted([cache], options: options)
        for _ in 0..<(2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
            onThread { compute(until: { done.count > 0 }) }
        }
        let hasCome = eventually { !heard.all.isEmpty }
        done.add()
        let report = await app.over()
        #expect(hasCome && heard.all.allSatisfy { $0.threshold == options.memoryPressure })
        #expect(report.notes == [])
    }

    @Test("of memory pressure leave no descriptor behind where the kernel refuses to tell")
    func pressureRefused() {
        let notes = Log<String>()
        let source = PressureSource(.init(stall: .milliseconds(150)), files: ["/dev/full"]) { notes.note($0) }
        #expect(source == nil && notes.all.count == 1 && notes.all.allSatisfy { $0.contains("/dev/full") })
        #expect(links { $0 == "/dev/full" } == [])
    }

    /// What a descriptor leads to.
    private func link(_ descriptor: Int32) -> String {
        var path = [UInt8](repeating: 0, count: 4096)
        let count = path.withUnsafeMutableBytes { bytes in
            readlink("/proc/self/fd/\(descriptor)", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: path.prefix(max(0, count)), as: UTF8.self)
    }

    /// What the process's descriptors lead to, as far as it is asked for.
    private func links(where isMeant: (String) -> Bool) -> [String] { (0..<1024).map(link).filter(isMeant) }

    @Test("of memory pressure are asked for in the kernel's words")
    func pressureRequest() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "memory.pressure")
        var source = PressureSource(
            .init(stall: .milliseconds(150), window: .seconds(2)), files: ["/nowhere", "\(folder.path)/memory.pressure"],
            note: { Issue.record("\($0)") })
        #expect(source != nil && folder.text("memory.pressure") == "some 150000 2000000\0")
        source = nil
        #expect(links { $0.hasPrefix(folder.path) } == [])
    }

    /// A control group of the test's own, where it may have one.
    private static let ownGroup: String? = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first {
        access("\($0)/cgroup.procs", W_OK) == 0 && access("\($0)/memory.pressure", W_OK) == 0
    }

    @Test("of memory pressure end with a note when the control group does, and none is made up",
          .enabled(if: ownGroup != nil, "control groups are not this user's to make"))
    func pressureGone() async throws {
        let group = "\(Self.ownGroup ?? "")/overdrive-test-\(getpid())"
        try #require(mkdir(group, 0o700) == 0)
        let heard = Counter()
        let cache = NoOpTask()
        cache.listen(for: MemoryPressure.self) { _ in heard.add() }
        let options = testOptions { $0.memoryPressure = .init(); $0.pressureFiles = ["\(group)/memory.pressure"] }
        let app = try await AppTasks.booted([cache], options: options)
        #expect(app.report.notes == [])
        #expect(rmdir(group) == 0)
        #expect(eventually { app.report.notes == ["memory pressure is no longer reported: its control group is gone"] })
        await app.over()
        #expect(heard.count == 0)
    }

    @Test("of a second app wait for that one's own boot")
    func secondApp() async throws {
        let first = try await AppTasks.booted([Listener()])
        let (gate, listener) = (Gate(), Listener())
        let second = AppTasks.build([listener, AppTask("slow") { gate.pass() }])
        #expect(second.post(Ping(number: 1)) == nil)
        #expect(listener.log.all.isEmpty && !second.hasBooted)
        gate.open()
        try await second.booted()
        await second.over()
        #expect(listener.log.all == [1])
        await first.over()
        // Nor does an app's thread keep what it has written its name to.
        #expect(eventually { links { $0.hasSuffix("/comm") } == [] })
    }
}
