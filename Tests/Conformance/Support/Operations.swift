import Foundation
import OverdriveCore

/// An `OperationQueue` of closures, or a `TaskQueue` with a limit.
enum Operations: Sendable {
    case theirs(OperationQueue)
    case dropIn(DropIn.OperationQueue)
    case ours(TaskQueue)

    init(_ surface: Surface, limit: Int?) {
        switch surface {
        case .libdispatch:
            let queue = OperationQueue()
            if let limit { queue.maxConcurrentOperationCount = limit }
            self = .theirs(queue)
        case .dropIn:
            let queue = DropIn.OperationQueue()
            if let limit { queue.maxConcurrentOperationCount = limit }
            self = .dropIn(queue)
        case .overdrive:
            self = .ours(limit.map { TaskQueue(maxConcurrentTaskCount: $0) } ?? TaskQueue())
        }
    }

    func add(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.addOperation(body)
        case .dropIn(let queue): queue.addOperation(body)
        case .ours(let queue): queue.async(execute: body)
        }
    }

    var limit: Int {
        get {
            switch self {
            case .theirs(let queue): queue.maxConcurrentOperationCount
            case .dropIn(let queue): queue.maxConcurrentOperationCount
            case .ours(let queue): queue.maxConcurrentTaskCount
            }
        }
        nonmutating set {
            switch self {
            case .theirs(let queue): queue.maxConcurrentOperationCount = newValue
            case .dropIn(let queue): queue.maxConcurrentOperationCount = newValue
            case .ours(let queue): queue.maxConcurrentTaskCount = newValue
            }
        }
    }

    var isSuspended: Bool {
        get {
            switch self {
            case .theirs(let queue): queue.isSuspended
            case .dropIn(let queue): queue.isSuspended
            case .ours(let queue): queue.isSuspended
            }
        }
        nonmutating set {
            switch self {
            case .theirs(let queue): queue.isSuspended = newValue
            case .dropIn(let queue): queue.isSuspended = newValue
            case .ours(let queue): queue.isSuspended = newValue
            }
        }
    }

    func cancelAll() {
        switch self {
        case .theirs(let queue): queue.cancelAllOperations()
        case .dropIn(let queue): queue.cancelAllOperations()
        case .ours(let queue): queue.cancelAll()
        }
    }

    func waitUntilAllAreFinished() {
        switch self {
        case .theirs(let queue): queue.waitUntilAllOperationsAreFinished()
        case .dropIn(let queue): queue.waitUntilAllOperationsAreFinished()
        case .ours(let queue): queue.waitUntilAllTasksAreFinished()
        }
    }

    var pending: Int {
        switch self {
        case .theirs(let queue): queue.operationCount
        case .dropIn(let queue): queue.operationCount
        case .ours(let queue): queue.pendingTaskCount
        }
    }
}
