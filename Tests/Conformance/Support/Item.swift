import Dispatch
import OverdriveCore

/// A `DispatchWorkItem` or a `WorkItem`.
enum Item: @unchecked Sendable {
    // On Linux DispatchWorkItem does not say that it is Sendable; it is made for use by several threads.
    case theirs(DispatchWorkItem)
    case dropIn(DropIn.DispatchWorkItem)
    case ours(WorkItem)

    func perform() {
        switch self {
        case .theirs(let item): item.perform()
        case .dropIn(let item): item.perform()
        case .ours(let item): item.perform()
        }
    }

    func cancel() {
        switch self {
        case .theirs(let item): item.cancel()
        case .dropIn(let item): item.cancel()
        case .ours(let item): item.cancel()
        }
    }

    var isCancelled: Bool {
        switch self {
        case .theirs(let item): item.isCancelled
        case .dropIn(let item): item.isCancelled
        case .ours(let item): item.isCancelled
        }
    }

    func wait() {
        switch self {
        case .theirs(let item): item.wait()
        case .dropIn(let item): item.wait()
        case .ours(let item): item.wait()
        }
    }

    /// Whether the item ended in time.
    func wait(milliseconds: Int) -> Bool {
        switch self {
        case .theirs(let item): item.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .dropIn(let item): item.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .ours(let item): item.wait(timeout: .milliseconds(milliseconds)) == .success
        }
    }

    func notify(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        switch (self, queue) {
        case (.theirs(let item), .theirs(let queue)): item.notify(queue: queue, execute: body)
        case (.dropIn(let item), .dropIn(let queue)): item.notify(queue: queue, execute: body)
        case (.ours(let item), .ours(let queue)): item.notify(on: queue, execute: body)
        default: preconditionFailure("an item and a queue of two surfaces")
        }
    }

    /// As a barrier of `queue`.
    func notifyAlone(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        switch (self, queue) {
        case (.theirs(let item), .theirs(let queue)): item.notify(flags: .barrier, queue: queue, execute: body)
        case (.dropIn(let item), .dropIn(let queue)): item.notify(flags: .barrier, queue: queue, execute: body)
        case (.ours(let item), .ours(let queue)): item.notify(on: queue, flags: .barrier, execute: body)
        default: preconditionFailure("an item and a queue of two surfaces")
        }
    }

    func notify(on queue: Queue, _ next: Item) {
        switch (self, queue, next) {
        case (.theirs(let item), .theirs(let queue), .theirs(let next)): item.notify(queue: queue, execute: next)
        case (.dropIn(let item), .dropIn(let queue), .dropIn(let next)): item.notify(queue: queue, execute: next)
        case (.ours(let item), .ours(let queue), .ours(let next)): item.notify(on: queue, execute: next)
        default: preconditionFailure("items and a queue of two surfaces")
        }
    }
}

extension Surface {
    func item(_ body: @escaping @Sendable () -> Void) -> Item {
        switch self {
        case .libdispatch: .theirs(DispatchWorkItem(block: body))
        case .dropIn: .dropIn(DropIn.DispatchWorkItem(block: body))
        case .overdrive: .ours(WorkItem(execute: body))
        }
    }

    func concurrentPerform(_ iterations: Int, _ body: @escaping @Sendable (Int) -> Void) {
        switch self {
        case .libdispatch: DispatchQueue.concurrentPerform(iterations: iterations, execute: body)
        case .dropIn: DropIn.DispatchQueue.concurrentPerform(iterations: iterations, execute: body)
        case .overdrive: TaskQueue.concurrentPerform(iterations: iterations, execute: body)
        }
    }
}

extension Queue {
    func async(_ item: Item) {
        switch (self, item) {
        case (.theirs(let queue), .theirs(let item)): queue.async(execute: item)
        case (.dropIn(let queue), .dropIn(let item)): queue.async(execute: item)
        case (.ours(let queue), .ours(let item)): queue.async(execute: item)
        default: preconditionFailure("a queue and an item of two surfaces")
        }
    }

    func async(group: Group, _ item: Item) {
        switch (self, group, item) {
        case (.theirs(let queue), .theirs(let group), .theirs(let item)): queue.async(group: group, execute: item)
        case (.dropIn(let queue), .dropIn(let group), .dropIn(let item)): queue.async(group: group, execute: item)
        case (.ours(let queue), .ours(let group), .ours(let item)): queue.async(group: group, execute: item)
        default: preconditionFailure("a queue, a group and an item of two surfaces")
        }
    }

    func sync(_ item: Item) {
        switch (self, item) {
        case (.theirs(let queue), .theirs(let item)): queue.sync(execute: item)
        case (.dropIn(let queue), .dropIn(let item)): queue.sync(execute: item)
        case (.ours(let queue), .ours(let item)): queue.sync(execute: item)
        default: preconditionFailure("a queue and an item of two surfaces")
        }
    }
}

extension Group {
    func notify(on queue: Queue, _ item: Item) {
        switch (self, queue, item) {
        case (.theirs(let group), .theirs(let queue), .theirs(let item)): group.notify(queue: queue, work: item)
        case (.dropIn(let group), .dropIn(let queue), .dropIn(let item)): group.notify(queue: queue, work: item)
        case (.ours(let group), .ours(let queue), .ours(let item)): group.notify(on: queue, execute: item)
        default: preconditionFailure("a group, a queue and an item of two surfaces")
        }
    }
}
