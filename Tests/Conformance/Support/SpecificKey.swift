import Dispatch
import OverdriveCore

/// A `DispatchSpecificKey` or a `TaskQueue.SpecificKey`.
enum SpecificKey: @unchecked Sendable {
    // On Linux DispatchSpecificKey does not say that it is Sendable; nothing of it ever changes.
    case theirs(DispatchSpecificKey<String>)
    case dropIn(DropIn.DispatchSpecificKey<String>)
    case ours(TaskQueue.SpecificKey<String>)

    /// The value for the closure that runs here.
    var current: String? {
        switch self {
        case .theirs(let key): DispatchQueue.getSpecific(key: key)
        case .dropIn(let key): DropIn.DispatchQueue.getSpecific(key: key)
        case .ours(let key): TaskQueue.getSpecific(key: key)
        }
    }
}

extension Surface {
    func specificKey() -> SpecificKey {
        switch self {
        case .libdispatch: .theirs(DispatchSpecificKey())
        case .dropIn: .dropIn(DropIn.DispatchSpecificKey())
        case .overdrive: .ours(TaskQueue.SpecificKey())
        }
    }
}

extension Queue {
    func setSpecific(_ key: SpecificKey, _ value: String?) {
        switch (self, key) {
        case (.theirs(let queue), .theirs(let key)): queue.setSpecific(key: key, value: value)
        case (.dropIn(let queue), .dropIn(let key)): queue.setSpecific(key: key, value: value)
        case (.ours(let queue), .ours(let key)): queue.setSpecific(key: key, value: value)
        default: preconditionFailure("a queue and a key of two surfaces")
        }
    }

    func getSpecific(_ key: SpecificKey) -> String? {
        switch (self, key) {
        case (.theirs(let queue), .theirs(let key)): queue.getSpecific(key: key)
        case (.dropIn(let queue), .dropIn(let key)): queue.getSpecific(key: key)
        case (.ours(let queue), .ours(let key)): queue.getSpecific(key: key)
        default: preconditionFailure("a queue and a key of two surfaces")
        }
    }

    func assertOnQueue() {
        switch self {
        case .theirs(let queue): dispatchPrecondition(condition: .onQueue(queue))
        case .dropIn(let queue): dispatchPrecondition(condition: .onQueue(queue))
        case .ours(let queue): queue.assertOnQueue()
        }
    }

    func assertOnQueueAsBarrier() {
        switch self {
        case .theirs(let queue): dispatchPrecondition(condition: .onQueueAsBarrier(queue))
        case .dropIn(let queue): dispatchPrecondition(condition: .onQueueAsBarrier(queue))
        case .ours(let queue): queue.assertOnQueueAsBarrier()
        }
    }

    func assertNotOnQueue() {
        switch self {
        case .theirs(let queue): dispatchPrecondition(condition: .notOnQueue(queue))
        case .dropIn(let queue): dispatchPrecondition(condition: .notOnQueue(queue))
        case .ours(let queue): queue.assertNotOnQueue()
        }
    }
}
