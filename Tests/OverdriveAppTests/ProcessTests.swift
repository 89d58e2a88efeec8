import Glibc
import TestSupport
import Testing

@testable import OverdriveApp

/// Apps that are processes, from outside.
@Suite("A process", .serialized)
struct ProcessTests {
    @Test("ends in order at SIGTERM and SIGINT, and hears the other signals", arguments: [SIGTERM, SIGINT])
    func orderly(signal: Int32) throws {
        let running = try Command.probe("service").start()
        #expect(running.has("ready"))
        running.send(SIGHUP)
        #expect(running.has("heard SIGHUP"))
        running.send(SIGUSR1)
        #expect(running.has("heard SIGUSR1"))
        running.send(SIGUSR2)
        #expect(running.has("heard SIGUSR2"))
        running.send(signal)
        let outcome = try running.wait()
        #expect(outcome.status == 0)
        #expect(outcome.lines.prefix(3) == ["database up", "server up", "ready"])
        #expect(outcome.lines.suffix(3) == ["server stopped", "database stopped", "exit"])
        #expect(outcome.errors == "")
    }

    @Test("with an asynchronous main does so, too")
    func asyncMain() throws {
        let running = try Command.probe("async-main").start()
        #expect(running.has("ready"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 0 && outcome.lines == ["server up", "ready", "server stopped"])
    }

    @Test("runs what comes to the main queue on the main thread")
    func mainQueue() throws {
        let outcome = try Command.probe("main-queue").run()
        #expect(outcome.status == 0 && outcome.lines == ["first on the main thread", "then on the main thread"])
    }

    @Test("exits with 1 and one sentence when the boot fails")
    func failure() throws {
        let outcome = try Command.probe("fail").run()
        #expect(outcome.status == 1)
        #expect(outcome.lines == ["first up", "first stopped"])
        #expect(outcome.errorLines == ["overdrive: the boot failed: \"second\" failed: the disk is full"])
        let provider = try Command.probe("no-provider").run()
        #expect(provider.status == 1)
        #expect(provider.errorLines == ["overdrive: the boot failed: the provider Thrower threw: the disk is full"])
        let limit = try Command.probe("limit").run()
        #expect(limit.status == 1)
        #expect(limit.errors.contains("Silent has not finished within its limit of 0.1 seconds"))
    }

    @Test("exits with 2 when a task is stuck in read(2), which is named, and the others are stopped")
    func stuck() throws {
        let running = try Command.probe("stuck").start()
        #expect(running.has("ready"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 2)
        #expect(outcome.lines == ["ready", "base stopped"])
        #expect(outcome.errors.contains("not ended within the budget: \"stuck\""))
    }

    @Test("cancels at the second signal, and exits at the third with 128 and its number")
    func escalation() throws {
        let second = try Command.probe("slow-stop").start()
        #expect(second.has("ready"))
        second.send(SIGTERM)
        #expect(second.has("stopping"))
        second.send(SIGINT)
        let cancelled = try second.wait()
        #expect(cancelled.status == 0 && cancelled.lines.last == "cancelled")

        let third = try Command.probe("stuck").start()
        #expect(third.has("ready"))
        third.send(SIGTERM)
        usleep(20_000)  // two of the same at once are one
        third.send(SIGINT)
        usleep(20_000)
        third.send(SIGINT)
        let outcome = try third.wait()
        // 2: the second and the third were one, or this test was held up for longer than the budget.
        #expect([128 + SIGINT, 2].contains(outcome.status))
    }

    @Test("ends a boot at SIGTERM: who runs is asked to end, who waits never starts")
    func whileBooting() throws {
        let running = try Command.probe("slow-boot").start()
        #expect(running.has("migrating"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 0)
        #expect(outcome.lines == ["base up", "migrating", "migration ended", "base stopped"])
    }

    @Test("ends in order when a task calls exit(), with exit's code")
    func exits() throws {
        for (mode, code) in [("exit-in-main", Int32(7)), ("exit-in-async", 8), ("exit-in-closure", 9)] {
            let outcome = try Command.probe(mode).run()
            #expect(outcome.status == code, "\(mode)")
            #expect(outcome.lines.last == "base stopped", "\(mode)")
            #expect(outcome.errors == "", "\(mode)")
        }
        // Whichever of the two was faster had its code.
        #expect(try Command.probe("exit-beside-stuck").run().status == 2)
    }

    @Test(
        "leaves a signal to the handler or the signalfd that has claimed it, and says so",
        arguments: [("claimed", "handled by the program"), ("claimed-by-descriptor", "read from a signalfd")])
    func claimed(mode: String, how: String) throws {
        let running = try Command.probe(mode).start()
        #expect(running.has("ready"))
        running.send(SIGUSR1)
        #expect(running.has("the program's own"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 0)
        #expect(!outcome.lines.contains("heard SIGUSR1"))
        #expect(outcome.errorLines == [
            "overdrive: SIGUSR1 is already \(how), and stays so: leave it out of the app's signals, "
                + "or give it up before the app is run"
        ])
    }

    @Test("leaves a signal ignored that whoever started it wants ignored")
    func ignored() throws {
        let running = try Command("nohup", [Command.probe().program, "service"]).start()
        #expect(running.has("ready"))
        running.send(SIGHUP)
        running.send(SIGUSR1)
        #expect(running.has("heard SIGUSR1"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        #expect(outcome.status == 0 && outcome.errors == "" && !outcome.lines.contains("heard SIGHUP"))
    }

    @Test("takes signals that its first thread has blocked, leaves interrupted calls as they are, and gives all back")
    func handlers() async {
        await #expect(processExitsWith: .success) {
            func action() -> (handler: Int, restarts: Bool) {
                var action = sigaction()
                sigaction(SIGUSR2, nil, &action)
                return (unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self), action.sa_flags & SA_RESTART != 0)
            }
            var (mine, present) = (sigset_t(), sigset_t())
            sigemptyset(&mine)
            sigaddset(&mine, SIGUSR2)
            pthread_sigmask(SIG_BLOCK, &mine, nil)
            var handlers = SignalHandlers([.user2], pipe: 100_000)
            handlers.unblock()
            pthread_sigmask(SIG_BLOCK, nil, &present)
            #expect(sigismember(&present, SIGUSR2) == 0 && action().handler > 1 && action().restarts)
            errno = 7  // the handler's own call fails
            raise(SIGUSR2)
            #expect(errno == 7)
            handlers.restore()
            #expect(action().handler == 0)
        }
    }

    @Test("counts the closures that there was no time for")
    func closures() throws {
        let folder = try TemporaryFolder()
        let running = try Command.probe("closures", folder.path).start()
        #expect(running.has("ready"))
        running.send(SIGTERM)
        let outcome = try running.wait()
        let ran = outcome.lines.count { $0.hasPrefix("closure ") }
        let report = folder.text("boot.txt")
        let counts = report.split(separator: "\n").first { $0.hasPrefix("Closures: ") }?
            .split(separator: " ").compactMap { Int($0) } ?? []
        try #require(counts.count == 3, "\(report)")
        // What runs when the time is over has written its line as well.
        #expect(ran == 11)
        #expect(counts[1] == 989 && counts[2] == 1, "\(report)")
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("of the accepted closures, 989 never ran and 1 still run"))
    }

    // MARK: - The service manager

    @Test("tells the service manager of its readiness, its end, and feeds its watchdog")
    func serviceManager() throws {
        let folder = try TemporaryFolder()
        let manager = try Datagrams(at: folder.path + "/notify")
        var command = Command.probe("service")
        command.environment = ["NOTIFY_SOCKET=\(folder.path)/notify", "WATCHDOG_USEC=20000"]
        let running = try command.start()
        #expect(eventually { manager.receive().contains("READY=1") })
        #expect(eventually { manager.receive().contains("WATCHDOG=1") })
        running.send(SIGTERM)
        #expect(eventually { manager.receive().contains("STOPPING=1") })
        let outcome = try running.wait()
        #expect(outcome.status == 0 && outcome.errors == "")
        #expect(manager.seen.first { $0 != "WATCHDOG=1" } == "READY=1")

        // A watchdog that is another process's has no beat.
        let other = try Datagrams(at: folder.path + "/other")
        command.environment = ["NOTIFY_SOCKET=\(folder.path)/other", "WATCHDOG_USEC=20000", "WATCHDOG_PID=1"]
        let unwatched = try command.start()
        #expect(eventually { other.receive().contains("READY=1") })
        usleep(50_000)
        unwatched.send(SIGHUP)
        #expect(unwatched.has("heard SIGHUP"))
        unwatched.send(SIGTERM)
        _ = try unwatched.wait()
        _ = other.receive()
        #expect(other.seen == ["READY=1", "STOPPING=1"])

        // The end feeds it also where the workers are stuck: it has budgets of its own.
        let last = try Datagrams(at: folder.path + "/last")
        var stuck = Command.probe("busy-stop")
        stuck.environment = ["NOTIFY_SOCKET=\(folder.path)/last", "WATCHDOG_USEC=20000"]
        let busy = try stuck.start()
        #expect(eventually { last.receive().contains("READY=1") })
        busy.send(SIGTERM)
        let beats = { last.receive().drop { $0 != "STOPPING=1" }.count { $0 == "WATCHDOG=1" } }
        #expect(eventually { beats() >= 3 }, "of 60 in 600 ms; workers take one at most before they are stuck")
        #expect(try busy.wait().status == 2)
    }

    @Test("beats twice as often as the watchdog wants it, and tells a service manager that has an abstract name")
    func beats() async throws {
        await #expect(processExitsWith: .success) {
            setenv("NOTIFY_SOCKET", "@overdrive-manager-\(getpid())", 1)
            setenv("WATCHDOG_USEC", "20000", 1)
            let manager = ServiceManager()
            #expect(manager?.beatInterval == 10_000_000)
            let listener = try Datagrams(at: "\0overdrive-manager-\(getpid())")
            #expect(manager?.send("READY=1") == nil && listener.receive() == ["READY=1"])
            for (process, interval) in [("1", nil), ("\(getpid())", Int64(10_000_000))] {
                setenv("WATCHDOG_PID", process, 1)
                #expect(ServiceManager()?.beatInterval == interval)
            }
        }
    }

    @Test("does without a service manager that does not listen, and says so once")
    func nobodyListens() throws {
        for socket in ["/nowhere/notify", "@overdrive-nobody-\(getpid())", "relative"] {
            var command = Command.probe("service")
            command.environment = ["NOTIFY_SOCKET=\(socket)"]
            let running = try command.start()
            #expect(running.has("ready"))
            running.send(SIGTERM)
            let outcome = try running.wait()
            #expect(outcome.status == 0)
            #expect(outcome.errorLines.count(where: { $0.contains("NOTIFY_SOCKET") }) >= 1, "\(outcome.errors)")
            #expect(outcome.errorLines.count <= 2, "\(outcome.errors)")
        }
    }
}

/// A folder that is gone with this.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/overdrive-app-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        for name in ["boot.txt", "boot.svg", "boot.json", "notify", "membership", "memory.pressure"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func write(_ text: String, to name: String) throws {
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    func text(_ name: String) -> String {
        let descriptor = open("\(path)/\(name)", O_RDONLY)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return String(decoding: Scratch.contents(descriptor), as: UTF8.self)
    }
}

/// A socket that messages come to, as a service manager has one.
final class Datagrams {
    private let descriptor: Int32
    private(set) var seen: [String] = []

    init(at path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        try #require(descriptor >= 0)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + path.utf8.count
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(length))
            }
        }
        try #require(bound == 0)
    }

    deinit { close(descriptor) }

    /// All that came so far.
    func receive() -> [String] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return seen }
            seen.append(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
    }
}
