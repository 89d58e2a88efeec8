import Foundation
import OverdriveApp

/// What a boot and an injection cost.
enum Measure {
    struct Provider: ServiceProvider { let appTasks: [AppTask] }

    /// Who waits for whom: each for the one before, or each for its parent in a tree of fours.
    static let graphs: [(name: String, parent: @Sendable (Int) -> Int)] = [
        ("chain", { $0 - 1 }), ("tree", { ($0 - 1) / 4 }),
    ]

    static func boot(tasks count: Int, rounds: Int) {
        print("boot of \(count) no-op tasks, one worker; nanoseconds a task, the best of \(rounds) rounds")
        for (name, parent) in graphs {
            var best = (boot: Double.infinity, all: Double.infinity, operations: Double.infinity, operationsAll: Double.infinity)
            for _ in 0..<rounds {
                let ours = bootOurs(count, parent)
                let theirs = bootOperations(count, parent)
                best = (min(best.boot, ours.boot), min(best.all, ours.all), min(best.operations, theirs.boot), min(best.operationsAll, theirs.all))
            }
            print("\(name): AppTasks \(Int(best.boot)) (with making and linking the tasks \(Int(best.all))), "
                + "OperationQueue \(Int(best.operations)) (\(Int(best.operationsAll)))")
        }
    }

    private static func bootOurs(_ count: Int, _ parent: (Int) -> Int) -> (boot: Double, all: Double) {
        let start = monotonicNow()
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
        let begin = monotonicNow()
        let app = AppTasks.build(serviceProviders: [Provider(appTasks: tasks)], options: options) { finished.leave() }
        finished.wait()
        let end = monotonicNow()
        app.end(cancelling: true)
        let over = WaitGroup()
        over.enter()
        AsyncTask {
            _ = await app.ended()
            over.leave()
        }
        over.wait()
        return (Double(end - begin) / Double(count), Double(end - start) / Double(count))
    }

    private static func bootOperations(_ count: Int, _ parent: (Int) -> Int) -> (boot: Double, all: Double) {
        let start = monotonicNow()
        var operations: [Operation] = []
        for index in 0..<count {
            let operation = BlockOperation {}
            if index > 0 { operation.addDependency(operations[parent(index)]) }
            operations.append(operation)
        }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let begin = monotonicNow()
        queue.addOperations(operations, waitUntilFinished: true)
        let end = monotonicNow()
        return (Double(end - begin) / Double(count), Double(end - start) / Double(count))
    }

    final class Service: Sendable {
        let number = 1
        @inline(never) func work(_ sum: Int) -> Int { sum &+ number }
    }

    final class User: @unchecked Sendable {
        @Inject var service: Service
        let plain: Service
        init(_ plain: Service) { self.plain = plain }
    }

    @inline(never)
    static func throughInjection(_ user: User, _ rounds: Int) -> Int {
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
        ServiceLocator.shared.add { Register(.unique) { service } }
        let user = User(service)
        let rounds = 2_000_000
        var (best, bare) = (Double.infinity, Double.infinity)
        for _ in 0..<40 {
            var begin = monotonicNow()
            _ = throughInjection(user, rounds)
            best = min(best, Double(monotonicNow() - begin) / Double(rounds))
            begin = monotonicNow()
            _ = throughConstant(user, rounds)
            bare = min(bare, Double(monotonicNow() - begin) / Double(rounds))
        }
        func shown(_ time: Double) -> Double { (time * 100).rounded() / 100 }
        print("a call of a service through a resolved @Inject \(shown(best)) ns, through a constant \(shown(bare)) ns: "
            + "the injection costs \(shown(best - bare)) ns")
    }
}
