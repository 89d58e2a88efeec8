import Foundation
import OverdriveApp
import Synchronization

/// What a boot and an injection cost.
enum Measure {
    struct Provider: ServiceProvider { let appTasks: [AppTask] }

    /// Who waits for whom: each for the one before, or each for its parent in a tree of fours.
    static let graphs: [(name: String, parent: @Sendable (Int) -> Int)] = [
        ("chain", { $0 - 1 }), ("tree", { ($0 - 1) / 4 }),
    ]

    static func boot(tasks count: Int, rounds: Int) {
        print("boot of \(count) no-op tasks that were made and linked before, one worker; the best of \(rounds) rounds")
        for (name, parent) in graphs {
            var (ours, theirs) = (Times(), Times())
            for _ in 0..<rounds {
                ours.lower(to: bootOurs(count, parent))
                theirs.lower(to: bootOperations(count, parent))
            }
            print("\(name), nanoseconds a task: AppTasks \(ours.shown(for: count)); OperationQueue \(theirs.shown(for: count))")
        }
    }

    /// What something took: on the clock, and of the process's CPU time, which other processes have no part in.
    struct Times {
        var clock = Int64.max
        var processor = Int64.max

        init() {}

        init(_ body: () -> Void) {
            let (begin, processorBegin) = (monotonicNow(), Times.processorNow())
            body()
            (clock, processor) = (monotonicNow() - begin, Times.processorNow() - processorBegin)
        }

        private static func processorNow() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }

        mutating func lower(to other: Times) {
            (clock, processor) = (min(clock, other.clock), min(processor, other.processor))
        }

        func shown(for count: Int) -> String { "\(clock / Int64(count)), of CPU time \(processor / Int64(count))" }
    }

    private static func bootOurs(_ count: Int, _ parent: (Int) -> Int) -> Times {
        var tasks: [AppTask] = []
        for index in 0..<count {
            let task = NoOpTask()
            if index > 0 { task.addDependency(tasks[parent(index)]) }
            tasks.append(task)
        }
        var options = AppOptions()
        options.workers = 1
        let finished = WaitGroup()
        finished.enter()
        let provider = Provider(appTasks: tasks)
        let times = Times {
            AppTasks.build(serviceProviders: [provider], options: options) { finished.leave() }
            finished.wait()
        }
        guard let app = AppTasks.shared else { return times }
        app.end(cancelling: true)
        let over = WaitGroup()
        over.enter()
        AsyncTask {
            _ = await app.ended()
            over.leave()
        }
        over.wait()
        return times
    }

    private static func bootOperations(_ count: Int, _ parent: (Int) -> Int) -> Times {
        var operations: [Operation] = []
        for index in 0..<count {
            let operation = BlockOperation {}
            if index > 0 { operation.addDependency(operations[parent(index)]) }
            operations.append(operation)
        }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return Times { queue.addOperations(operations, waitUntilFinished: true) }
    }

    protocol Working: Sendable { func work(_ sum: Int) -> Int }

    final class Service: Working {
        private let number = Atomic(1)
        @inline(never) func work(_ sum: Int) -> Int { sum &+ number.load(ordering: .relaxed) }
    }

    final class User: Sendable {
        let injected = Injected<Service>()
        let plain: Service
        init(_ plain: Service) { self.plain = plain }
    }

    final class ProtocolUser: Sendable {
        let injected = Injected<any Working>()
    }

    final class WrapperUser: @unchecked Sendable {
        @Inject var service: Service
    }

    /// A variable that somebody may set: who calls what it holds retains that for as long as the call lasts.
    final class VariableUser: @unchecked Sendable {
        private(set) var service: Service
        init(_ service: Service) { self.service = service }
        @inline(never) func set(_ service: Service) { self.service = service }
    }

    @inline(never)
    static func throughVariable(_ user: VariableUser, _ rounds: Int) -> Int {
        var sum = 0
        for _ in 0..<rounds { sum = user.service.work(sum) }
        return sum
    }

    @inline(never)
    static func throughInjected(_ user: User, _ rounds: Int) -> Int {
        var sum = 0
        for _ in 0..<rounds { sum = user.injected.value.work(sum) }
        return sum
    }

    @inline(never)
    static func withInjected(_ user: ProtocolUser, _ rounds: Int) -> Int {
        var sum = 0
        for _ in 0..<rounds { sum = user.injected.withValue { $0.work(sum) } }
        return sum
    }

    @inline(never)
    static func throughWrapper(_ user: WrapperUser, _ rounds: Int) -> Int {
        var sum = 0
        for _ in 0..<rounds { sum = user.service.work(sum) }
        return sum
    }

    @inline(never)
    static func throughConstant(_ user: User, _ rounds: Int) -> Int {
        var sum = 0
        for _ in 0..<rounds { sum = user.plain.work(sum) }
        return sum
    }

    static func inject() {
        let service = Service()
        ServiceLocator.shared.add {
            Register(.unique) { service }
            Register((any Working).self, .unique) { service }
        }
        let (user, wrapperUser, rounds) = (User(service), WrapperUser(), 1_000_000)
        let protocolUser = ProtocolUser()
        let variableUser = VariableUser(Service())
        variableUser.set(service)
        var (constant, variable, injected, wrapper, borrowed) = (Times(), Times(), Times(), Times(), Times())
        for _ in 0..<40 {
            constant.lower(to: Times { sink += throughConstant(user, rounds) })
            variable.lower(to: Times { sink += throughVariable(variableUser, rounds) })
            injected.lower(to: Times { sink += throughInjected(user, rounds) })
            wrapper.lower(to: Times { sink += throughWrapper(wrapperUser, rounds) })
            borrowed.lower(to: Times { sink += withInjected(protocolUser, rounds) })
        }
        func shown(_ times: Times) -> Double { Double(times.processor / 10_000) / 100 }
        print("a call of a service, nanoseconds: through a constant \(shown(constant)), through a variable "
            + "\(shown(variable)), through a resolved Injected \(shown(injected)), through a resolved @Inject \(shown(wrapper)), of a protocol in withValue \(shown(borrowed)) (\(sink & 1))")
    }

    nonisolated(unsafe) private static var sink = 0
}
