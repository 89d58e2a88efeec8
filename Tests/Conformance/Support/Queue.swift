import Dispatch
import OverdriveCore

/// A `DispatchQueue` or a `TaskQueue`.
enum Queue: Sendable {
    case theirs(DispatchQueue)
    case dropIn(DropIn.DispatchQueue)
    case ours(TaskQueue)

    var label: String {
        switch self {
        case .theirs(let queue): queue.label
        case .dropIn(let queue): queue.label
        case .ours(let queue): queue.label
        }
    }

    func async(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.async(execute: body)
        case .dropIn(let queue): queue.async(execute: body)
        case .ours(let queue): queue.async(execute: body)
        }
    }

    func async(qos: QoS, _ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.async(qos: qos.theirs, execute: body)
        case .dropIn(let queue): queue.async(qos: qos.theirs, execute: body)
        case .ours(let queue): queue.async(qos: qos.ours, execute: body)
        }
    }

    func async(group: Group, _ body: @escaping @Sendable () -> Void) {
        switch (self, group) {
        case (.theirs(let queue), .theirs(let group)): queue.async(group: group, execute: body)
        case (.dropIn(let queue), .dropIn(let group)): queue.async(group: group, execute: body)
        case (.ours(let queue), .ours(let group)): queue.async(group: group, execute: body)
        default: preconditionFailure("a queue and a group of two surfaces")
        }
    }

    func sync<R>(_ body: () throws -> R) rethrows -> R {
        switch self {
        case .theirs(let queue): try queue.sync(execute: body)
        case .dropIn(let queue): try queue.sync(execute: body)
        case .ours(let queue): try queue.sync(execute: body)
        }
    }

    func suspend() {
        switch self {
        case .theirs(let queue): queue.suspend()
        case .dropIn(let queue): queue.suspend()
        case .ours(let queue): queue.suspend()
        }
    }

    func resume() {
        switch self {
        case .theirs(let queue): queue.resume()
        case .dropIn(let queue): queue.resume()
        case .ours(let queue): queue.resume()
        }
    }
}

extension Queue {
    func activate() {
        switch self {
        case .theirs(let queue): queue.activate()
        case .dropIn(let queue): queue.activate()
        case .ours(let queue): queue.activate()
        }
    }

    func setTarget(_ target: Queue) {
        switch (self, target) {
        case (.theirs(let queue), .theirs(let target)): queue.setTarget(queue: target)
        case (.dropIn(let queue), .dropIn(let target)): queue.setTarget(queue: target)
        case (.ours(let queue), .ours(let target)): queue.setTarget(target)
        default: preconditionFailure("queues of two surfaces")
        }
    }

    /// nil: the queue was told none.
    var qos: QoS? {
        switch self {
        case .theirs(let queue): QoS.allCases.first { $0.theirs == queue.qos }
        case .dropIn(let queue): QoS.allCases.first { $0.theirs == queue.qos }
        case .ours(let queue): QoS.allCases.first { $0.ours == queue.qos }
        }
    }
}
