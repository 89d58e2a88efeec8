import Foundation
import OverdriveCore

/// An `OperationQueue` of closures, or a `TaskQueue` with a limit.
typealias Operations = Counterpart<OperationQueue, DropIn.OperationQueue, TaskQueue>

extension Surface {
    func operations(limit: Int? = nil) -> Operations {
        let made = pick(OperationQueue(), DropIn.OperationQueue(), limit.map { TaskQueue(maxConcurrentTaskCount: $0) } ?? TaskQueue())
        if let limit { made.on({ $0.maxConcurrentOperationCount = limit }, { $0.maxConcurrentOperationCount = limit }, { _ in }) }
        return made
    }
}

extension Operations {
    func add(_ body: @escaping @Sendable () -> Void) {
        on({ $0.addOperation(body) }, { $0.addOperation(body) }, { $0.async(execute: body) })
    }

    func addBarrier(_ body: @escaping @Sendable () -> Void) {
        on({ $0.addBarrierBlock(body) }, { $0.addBarrierBlock(body) }, { $0.async(flags: .barrier, execute: body) })
    }

    var limit: Int {
        get { on({ $0.maxConcurrentOperationCount }, { $0.maxConcurrentOperationCount }, { $0.maxConcurrentTaskCount }) }
        nonmutating set {
            on(
                { $0.maxConcurrentOperationCount = newValue }, { $0.maxConcurrentOperationCount = newValue },
                { $0.maxConcurrentTaskCount = newValue })
        }
    }

    var isSuspended: Bool {
        get { on({ $0.isSuspended }, { $0.isSuspended }, { $0.isSuspended }) }
        nonmutating set {
            on({ $0.isSuspended = newValue }, { $0.isSuspended = newValue }, { $0.isSuspended = newValue })
        }
    }

    func cancelAll() {
        on({ $0.cancelAllOperations() }, { $0.cancelAllOperations() }, { _ = $0.cancelAll() })
    }

    func waitUntilAllAreFinished() {
        on(
            { $0.waitUntilAllOperationsAreFinished() }, { $0.waitUntilAllOperationsAreFinished() },
            { $0.waitUntilAllTasksAreFinished() })
    }

    var pending: Int { on({ $0.operationCount }, { $0.operationCount }, { $0.pendingTaskCount }) }
}
