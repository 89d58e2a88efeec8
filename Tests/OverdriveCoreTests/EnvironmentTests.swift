import OverdriveCore
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the shared scheduler takes from the environment, each in a process of its own.
@Suite("The environment", .timeLimit(.minutes(10)))
struct EnvironmentTests {
    @Test("sets the number of workers", arguments: [1, 3, 1_024])
    func workers(count: Int) async {
        await #expect(processExitsWith: .success) { [count] in
            setenv("OVERDRIVE_WORKERS", "\(count)", 1)
            #expect(Scheduler.shared.workerCount == count)
        }
    }

    @Test(
        "that is malformed is left out, with one sentence",
        arguments: ["", "0", "-1", "1025", "two", "2.5", "2 ", "99999999999999999999", "à"])
    func malformed(value: String) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [value] in
            setenv("OVERDRIVE_WORKERS", value, 1)
            #expect(Scheduler.shared.workerCount == Machine.current.workerCount)
            let result = try await TaskQueue().run { 5 }
            #expect(result == 5)
        }
        let told = sentences(result?.standardErrorContent)
        #expect(told.count == 1)
        #expect(told.allSatisfy { $0.hasPrefix("overdrive: OVERDRIVE_WORKERS") && $0.hasSuffix("The default applies.") })
    }

    @Test("names a placement", arguments: ["none", "node", "core", "automatic"])
    func placement(name: String) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [name] in
            setenv("OVERDRIVE_PLACEMENT", name, 1)
            let planned = try plannedCPUs(name, workers: Scheduler.shared.workerCount)
            let place = Log<[Int]>()
            TaskQueue().async { place.note(allowedCPUs()) }
            #expect(eventually { place.all.count == 1 })
            #expect(planned.contains(place.all[0]))
        }
        let output = written(result?.standardErrorContent)
        #expect(!output.contains("overdrive: "))
    }

    @Test("that names no placement is left out, with one sentence, and the workers are still heeded")
    func unknownPlacement() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            setenv("OVERDRIVE_PLACEMENT", "somewhere", 1)
            setenv("OVERDRIVE_WORKERS", "3", 1)
            #expect(Scheduler.shared.workerCount == 3)
        }
        let output = written(result?.standardErrorContent)
        #expect(output.contains("overdrive: OVERDRIVE_PLACEMENT"))
        #expect(output.contains("The default applies."))
    }

    /// Closures that wait for each other on two workers, as many as are to be released together.
    private static func meet(_ count: Int) {
        let arrived = CountingSemaphore(value: 0), go = CountingSemaphore(value: 0), group = WaitGroup()
        let queue = TaskQueue()
        for _ in 0..<count {
            queue.async(group: group) {
                arrived.signal()
                go.wait()
            }
        }
        for _ in 0..<count { arrived.wait() }
        for _ in 0..<count { go.signal() }
        group.wait()
    }

    @Test("allows the spares that closures need which wait for each other")
    func spares() async {
        await #expect(processExitsWith: .success) {
            setenv("OVERDRIVE_WORKERS", "2", 1)
            setenv("OVERDRIVE_SPARES", "126", 1)
            EnvironmentTests.meet(128)
        }
        await #expect(processExitsWith: .success) {
            setenv("OVERDRIVE_WORKERS", "2", 1)
            try Scheduler.setUpShared(spareWorkers: 126)
            EnvironmentTests.meet(128)
        }
    }

    @Test("has the last word on spares, and a pool that they do not suffice for says so")
    func tooFewSpares() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            setenv("OVERDRIVE_WORKERS", "2", 1)
            setenv("OVERDRIVE_SPARES", "3", 1)
            try Scheduler.setUpShared(spareWorkers: 126)
            Scheduler.onWarning { sentence in  // ends the process, which would hang
                var text = sentence
                text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
                _exit(EXIT_FAILURE)
            }
            alarm(200)
            EnvironmentTests.meet(128)
        }
        let output = written(result?.standardErrorContent)
        #expect(output.contains("is stuck: closures are pending, but every thread waits (5 threads, 3 spares at most"))
        #expect(output.contains("waits for a semaphore"))
    }

    @Test("tells its warnings to who takes them, and nobody else")
    func takenWarnings() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            setenv("OVERDRIVE_WORKERS", "no number", 1)
            let said = Log<String>()
            Scheduler.onWarning { sentence in
                TaskQueue.global().async { said.note(sentence) }  // Which uses what the first warning is about.
            }
            _ = Scheduler.shared.workerCount
            #expect(eventually { said.all.count == 1 })
            #expect(said.all.allSatisfy { $0.hasPrefix("OVERDRIVE_WORKERS") && !$0.hasSuffix("\n") })
            // And one of the engine's own.
            let scheduler = try Scheduler(workers: 1, name: "told", spareWorkers: 0)
            let (queue, arrived, go) = (TaskQueue(scheduler: scheduler), Counter(), CountingSemaphore(value: 0))
            queue.async {
                arrived.add()
                go.wait()
            }
            queue.async {}
            #expect(eventually { said.all.count == 2 })
            #expect(said.all[1].hasPrefix("pool \"told\" is stuck: closures are pending"))
            go.signal()
            await queue.drained()
            Scheduler.onWarning(nil)
            warn("written again")
        }
        let output = written(result?.standardErrorContent)
        #expect(output.contains("overdrive: written again\n"))
        #expect(!output.contains("is stuck") && !output.contains("OVERDRIVE_WORKERS"))
    }

    @Test("is too late for spares once the scheduler is there")
    func lateSpares() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Scheduler.shared.workerCount
            try Scheduler.setUpShared(spareWorkers: 1)
        }
        let output = written(result?.standardErrorContent)
        #expect(output.contains("Scheduler.setUpShared: Scheduler.shared is in use already"))
    }

    @Test("has no say in schedulers of one's own")
    func ownSchedulers() async {
        await #expect(processExitsWith: .success) {
            setenv("OVERDRIVE_WORKERS", "7", 1)
            let scheduler = try Scheduler(workers: 2)
            #expect(scheduler.workerCount == 2)
        }
    }

    @Test("names a signal that prints every scheduler and writes a recording")
    func signal() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [-1, -1], folder = Array("/tmp/od-signal-XXXXXX".utf8CString)
            try #require(mkdtemp(&folder) != nil && pipe(&ends) == 0)
            setenv("OVERDRIVE_SIGNAL", "USR1", 1)
            setenv("OVERDRIVE_RECORDER", folder, 1)
            let (first, second) = (try Scheduler(workers: 1, name: "first"), try Scheduler(workers: 1, name: "second"))
            let gate = Gate()
            TaskQueue.serial(label: "held", scheduler: first).async { gate.pass() }
            #expect(eventually { gate.arrivals == 1 })
            let before = dup(STDERR_FILENO)
            dup2(ends[1], STDERR_FILENO)
            kill(getpid(), SIGUSR1)
            var text = ""
            while !text.contains("Scheduler \"second\": 0 workers") {
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = read(ends[0], &bytes, bytes.count)
                try #require(count > 0)
                text += String(decoding: bytes.prefix(count), as: UTF8.self)
            }
            dup2(before, STDERR_FILENO)
            let file = try #require(text.firstMatch(of: /recorder: the last seconds are in (\S+)\. Run/)?.1, "\(text)")
            #expect(text.contains("Scheduler \"first\": 1 worker") && text.contains("runs \"held\""), "\(text)")
            #expect(unlink(String(file)) == 0 && rmdir(folder) == 0)
            withExtendedLifetime((first, second)) { gate.open() }
        }
    }

    @Test("that names no signal is left out, with one sentence")
    func unknownSignal() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            setenv("OVERDRIVE_SIGNAL", "KILL", 1)
            _ = Scheduler.shared.workerCount
        }
        let told = sentences(result?.standardErrorContent)
        #expect(told == ["overdrive: OVERDRIVE_SIGNAL: unknown signal (KILL). Name USR1, USR2, QUIT, HUP, URG or WINCH."])
    }
}
