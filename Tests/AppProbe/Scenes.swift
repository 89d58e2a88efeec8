import Glibc
import OverdriveApp

/// Which the module of the C library leaves out.
@_silgen_name("signalfd")
private func signalfd(_ descriptor: Int32, _ signals: UnsafePointer<sigset_t>, _ flags: Int32) -> Int32

/// Small apps, each with one thing to be seen.
enum Scenes {
    struct Provider: ServiceProvider {
        let appTasks: [AppTask]
        init(_ tasks: AppTask...) { appTasks = tasks }
    }

    static var quick: AppOptions {
        var options = AppOptions()
        options.workers = 2
        options.stopBudget = .milliseconds(300)
        options.endBudget = .seconds(1)
        return options
    }

    /// A database, a server that needs it, and a listener.
    static func service() -> Never {
        let database = AppTask("database") { note("database up") } stop: { note("database stopped") }
        let server = AppTask("server", dependencies: [database]) { note("server up") } stop: { note("server stopped") }
        let listener = NoOpTask()
        listener.listen(for: AppSignal.self) { note("heard \($0)") }
        atexit { note("exit") }
        AppTasks.run(serviceProviders: [Provider(database, server, listener)]) { note("ready") }
    }

    static func asyncMain() async {
        let server = AppTask("server") { note("server up") } stop: { note("server stopped") }
        await AppTasks.run(serviceProviders: [Provider(server)]) { note("ready") }
    }

    struct Broken: Error, CustomStringConvertible { var description: String { "the disk is full" } }

    static func fail() -> Never {
        let first = AppTask("first") { note("first up") } stop: { note("first stopped") }
        let second = AppTask("second", dependencies: [first]) { throw Broken() } stop: { note("second stopped") }
        let third = AppTask("third", dependencies: [second]) { note("third up") } stop: { note("third stopped") }
        AppTasks.run(serviceProviders: [Provider(first, second, third)]) { note("ready") }
    }

    final class Silent: AppTask, @unchecked Sendable {
        override func main() { note("silent began") }
    }

    static func limit() -> Never {
        let silent = Silent()
        silent.startLimit = .milliseconds(100)
        AppTasks.run(serviceProviders: [Provider(silent)], options: quick) { note("ready") }
    }

    /// A task whose stop is stuck in read(2), and one that it depends on.
    static func stuck() -> Never {
        let base = AppTask("base") {} stop: { note("base stopped") }
        let stuck = AppTask("stuck", dependencies: [base]) {} stop: { readForEver() }
        atexit { note("what may wait for what is stuck") }
        AppTasks.run(serviceProviders: [Provider(base, stuck)], options: quick) { note("ready") }
    }

    /// Both workers compute until the budget is over: nobody takes their place.
    static func busyStop() -> Never {
        var options = quick
        options.stopBudget = .milliseconds(600)
        let tasks = (0..<2).map { AppTask("busy \($0)") {} stop: { while true { sched_yield() } } }
        AppTasks.run(serviceProviders: [Provider(tasks[0], tasks[1])], options: options) { note("ready") }
    }

    /// Stops when it is cancelled, and would take ten seconds else.
    static func slowStop() -> Never {
        let slow = AppTask("slow") {} stop: {
            note("stopping")
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(10)) } catch { note("cancelled") }
        }
        AppTasks.run(serviceProviders: [Provider(slow)]) { note("ready") }
    }

    final class Leaver: AppTask, @unchecked Sendable {
        override func main() {
            note("leaving")
            exit(7)
        }
    }

    static func exitInMain() -> Never {
        let base = AppTask("base") { note("base up") } stop: { note("base stopped") }
        let leaver = Leaver()
        leaver.addDependency(base)
        AppTasks.run(serviceProviders: [Provider(base, leaver)], options: quick) { note("ready") }
    }

    static func exitInAsync() -> Never {
        let base = AppTask("base") { note("base up") } stop: { note("base stopped") }
        let leaver = AppTask("leaver", dependencies: [base]) {
            note("leaving")
            exit(8)
        }
        AppTasks.run(serviceProviders: [Provider(base, leaver)], options: quick) { note("ready") }
    }

    static func exitInClosure() -> Never {
        // Its boot and the closure are on the same worker.
        final class Base: AppTask, @unchecked Sendable {
            override func main() { note("base up"); setFinished() }
            override func stop() async throws {
                // Longer than closures have to return.
                try await AsyncTask<Never, Never>.sleep(for: .milliseconds(400))
                note("base stopped")
            }
        }
        var options = AppOptions()
        options.workers = 1
        options.endBudget = .seconds(3600)
        AppTasks.run(serviceProviders: [Provider(Base())], options: options) {
            note("ready")
            TaskQueue(scheduler: AppTasks.shared?.scheduler ?? .shared).async { exit(9) }
        }
    }

    static func exitBesideStuck() -> Never {
        let stuck = AppTask("stuck") {} stop: { readForEver() }
        AppTasks.run(serviceProviders: [Provider(stuck)], options: quick) { onThread { exit(9) } }
    }

    /// SIGTERM while it boots: what runs is asked to end, what waits never starts.
    static func slowBoot() -> Never {
        let base = AppTask("base") { note("base up") } stop: { note("base stopped") }
        let migration = AppTask("migration", dependencies: [base]) {
            note("migrating")
            do { try await AsyncTask<Never, Never>.sleep(for: .seconds(20)) } catch {
                note("migration ended")
                throw error
            }
        }
        let server = AppTask("server", dependencies: [migration]) { note("server up") }
        AppTasks.run(serviceProviders: [Provider(base, migration, server)]) { note("ready") }
    }

    /// What is sent to the main queue and the main actor, twice: while nobody else wakes the main thread, too.
    static func mainQueue() -> Never {
        let main = pthread_self()
        @Sendable func place() -> String { pthread_self() == main ? "the main thread" : "another thread" }
        AppTasks.run(serviceProviders: []) {
            TaskQueue.onMain {
                note("first on \(place())")
                AsyncTask { @MainActor in
                    try? await AsyncTask<Never, Never>.sleep(for: .milliseconds(20))
                    note("then on \(place())")
                    AppTasks.shared?.end()
                }
            }
        }
    }

    static func claimed() -> Never {
        signal(SIGUSR1) { _ in note("the program's own") }
        service()
    }

    static func claimedByDescriptor() -> Never {
        // Blocked before there is any other thread: they all inherit it.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let descriptor = signalfd(-1, &signals, O_CLOEXEC)
        onThread {
            var information = [UInt8](repeating: 0, count: 128)
            while read(descriptor, &information, information.count) > 0 { note("the program's own") }
        }
        service()
    }

    struct Thrower: ServiceProvider {
        func modules() throws -> [Register] { throw Broken() }
    }

    static func throwing() -> Never {
        AppTasks.run(serviceProviders: [Thrower()]) { note("ready") }
    }

    /// A queue, on the app's scheduler, whose eleventh closure never ends.
    static func closures() -> Never {
        let feeder = AppTask("feeder") {} stop: {
            let queue = TaskQueue.serial(label: "slow", scheduler: AppTasks.shared?.scheduler ?? .shared)
            for number in 0..<1000 {
                queue.async {
                    note("closure \(number)")
                    if number == 10 { readForEver() }
                }
            }
        }
        var options = quick
        options.explanationFolder = word(1)
        AppTasks.run(serviceProviders: [Provider(feeder)], options: options) { note("ready") }
    }
}
