import Glibc
import OverdriveApp

/// A random graph that boots while events and closures come, and SIGTERM at a random microsecond. Each thing that happens
/// is a line, from which the test knows whether all was right.
enum Storm {
    struct Event: AppEvent { let number: Int }

    enum Kind: Int, CaseIterable { case prompt, callback, suspending, idle }

    static func run(seed: Int, isStuck: Bool, folder: String?) -> Never {
        var dice = Dice(seed)
        let count = 1 + dice.upTo(199)
        let queue = Shared.queue
        var tasks: [StormTask] = []
        for index in 0..<count {
            let kind = Kind.allCases[dice.upTo(Kind.allCases.count - 1)]
            let task = StormTask(
                index, kind, boots: dice.upTo(400), stops: dice.upTo(400), queue: queue, isListening: dice.upTo(3) == 0)
            var waitsFor: Set<Int> = []
            for _ in 0..<dice.upTo(3) where index > 0 { waitsFor.insert(dice.upTo(index - 1)) }
            for dependency in waitsFor.sorted() {
                task.addDependency(tasks[dependency])
                note("D \(index) \(dependency)")
            }
            tasks.append(task)
        }
        if isStuck { tasks[dice.upTo(count - 1)].stuckAt = dice.upTo(1) == 0 ? .boot : .stop }
        let cut = dice.upTo(count)
        let (delay, pause) = (dice.upTo(30_000), 1 + dice.upTo(500))
        var options = AppOptions()
        options.workers = 2
        // A machine that is busy with other things is to pass, too, unless the times are what is tested.
        let isTimed = getenv("APP_STORM_TIMED") != nil
        options.stopBudget = .milliseconds(isTimed ? 400 : 1500)
        options.endBudget = .seconds(isTimed ? 2 : 20)
        options.explanationFolder = folder
        onThread {
            // From the moment on at which the app has the signal.
            while AppTasks.shared == nil { usleep(10) }
            usleep(UInt32(delay))
            note("K \(monotonicNow())")
            kill(getpid(), SIGTERM)
        }
        onThread {
            for number in 0..<10 {
                usleep(UInt32(pause))
                guard let app = AppTasks.shared else { continue }
                if app.post(Event(number: number)) == nil { note("A \(number)") } else { note("R \(number)") }
            }
        }
        struct Half: ServiceProvider {
            let appTasks: [AppTask]
        }
        AppTasks.run(
            serviceProviders: [Half(appTasks: Array(tasks[..<cut])), Half(appTasks: Array(tasks[cut...]))], options: options
        ) { note("B") }
    }

    /// Where the tasks' closures go, once there is an app.
    enum Shared {
        static let queue = LazyQueue()
    }

    final class LazyQueue: Sendable {
        /// The app's, which is there when a task runs.
        func submit(_ name: String) {
            guard let app = AppTasks.shared else { return }
            note("Q \(name)")
            TaskQueue(scheduler: app.scheduler).async { note("C \(name)") }
        }
    }
}

final class StormTask: AppTask, @unchecked Sendable {
    enum Moment { case boot, stop }

    private let number: Int
    private let kind: Storm.Kind
    private let boots: Int
    private let stops: Int
    private let queue: Storm.LazyQueue
    private let isListening: Bool
    var stuckAt: Moment?

    init(_ number: Int, _ kind: Storm.Kind, boots: Int, stops: Int, queue: Storm.LazyQueue, isListening: Bool) {
        (self.number, self.kind, self.boots, self.stops) = (number, kind, boots, stops)
        (self.queue, self.isListening) = (queue, isListening)
        super.init()
        name = "\(number)"
    }

    override func main() {
        note("S \(number)")
        queue.submit("\(number)b")
        if stuckAt == .boot {
            note("T \(number)")
            readForEver()
        }
        switch kind {
        case .prompt:
            usleep(UInt32(boots))
            end()
        case .callback:
            TaskQueue.global().asyncAfter(.microseconds(boots)) { [self] in end() }
        case .suspending:
            AsyncTask { [self] in
                try? await AsyncTask<Never, Never>.sleep(for: .microseconds(boots))
                end()
            }
        case .idle:
            end()
        }
    }

    private func end() {
        note("U \(number)")
        setFinished()
    }

    override func stop() async throws {
        note("s \(number)")
        queue.submit("\(number)s")
        if stuckAt == .stop {
            note("T \(number)")
            readForEver()
        }
        if kind == .suspending {
            try? await AsyncTask<Never, Never>.sleep(for: .microseconds(stops))
        } else {
            usleep(UInt32(stops))
        }
        note("x \(number)")
    }

    override func receive(_ event: any AppEvent) {
        if isListening, let event = event as? Storm.Event { note("E \(number) \(event.number)") }
    }
}
