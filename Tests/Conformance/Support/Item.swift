import Dispatch
import OverdriveCore

/// A `DispatchWorkItem` or a `WorkItem`.
typealias Item = Counterpart<DispatchWorkItem, DropIn.DispatchWorkItem, WorkItem>

extension Surface {
    func item(_ body: @escaping @Sendable () -> Void) -> Item {
        pick(DispatchWorkItem(block: body), DropIn.DispatchWorkItem(block: body), WorkItem(execute: body))
    }

    func barrierItem(_ body: @escaping @Sendable () -> Void) -> Item {
        pick(
            DispatchWorkItem(flags: .barrier, block: body), DropIn.DispatchWorkItem(flags: .barrier, block: body),
            WorkItem(flags: .barrier, execute: body))
    }
}

extension Item {
    var isCancelled: Bool { on({ $0.isCancelled }, { $0.isCancelled }, { $0.isCancelled }) }

    func perform() { on({ $0.perform() }, { $0.perform() }, { $0.perform() }) }
    func cancel() { on({ $0.cancel() }, { $0.cancel() }, { $0.cancel() }) }
    func wait() { on({ $0.wait() }, { $0.wait() }, { $0.wait() }) }

    /// Whether the item ended in time.
    func wait(milliseconds: Int) -> Bool {
        let time = soon(milliseconds)
        return on(
            { $0.wait(timeout: time) == .success }, { $0.wait(timeout: time) == .success },
            { $0.wait(timeout: .milliseconds(milliseconds)) == .success })
    }

    func notify(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        and(queue).on(
            { $0.notify(queue: $1, execute: body) }, { $0.notify(queue: $1, execute: body) }, { $0.notify(on: $1, execute: body) })
    }

    /// As a barrier of `queue`.
    func notifyAlone(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        and(queue).on(
            { $0.notify(flags: .barrier, queue: $1, execute: body) }, { $0.notify(flags: .barrier, queue: $1, execute: body) },
            { $0.notify(on: $1, flags: .barrier, execute: body) })
    }

    func notify(on queue: Queue, _ next: Item) {
        and(queue).and(next).on(
            { $0.0.notify(queue: $0.1, execute: $1) }, { $0.0.notify(queue: $0.1, execute: $1) },
            { $0.0.notify(on: $0.1, execute: $1) })
    }
}

extension Queue {
    func async(_ item: Item) {
        and(item).on({ $0.async(execute: $1) }, { $0.async(execute: $1) }, { $0.async(execute: $1) })
    }

    func async(group: Group, _ item: Item) {
        and(group).and(item).on(
            { $0.0.async(group: $0.1, execute: $1) }, { $0.0.async(group: $0.1, execute: $1) },
            { $0.0.async(group: $0.1, execute: $1) })
    }

    func sync(_ item: Item) {
        and(item).on({ $0.sync(execute: $1) }, { $0.sync(execute: $1) }, { $0.sync(execute: $1) })
    }
}
