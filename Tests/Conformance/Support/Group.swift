import Dispatch
import OverdriveCore

/// A `DispatchGroup` or a `WaitGroup`.
typealias Group = Counterpart<DispatchGroup, DropIn.DispatchGroup, WaitGroup>

extension Surface {
    func group() -> Group { pick(DispatchGroup(), DropIn.DispatchGroup(), WaitGroup()) }
}

extension Group {
    func enter() { on({ $0.enter() }, { $0.enter() }, { $0.enter() }) }
    func leave() { on({ $0.leave() }, { $0.leave() }, { $0.leave() }) }
    func wait() { on({ $0.wait() }, { $0.wait() }, { $0.wait() }) }

    /// Whether the group was empty in time.
    func wait(milliseconds: Int) -> Bool {
        let time = soon(milliseconds)
        return on(
            { $0.wait(timeout: time) == .success }, { $0.wait(timeout: time) == .success },
            { $0.wait(timeout: .milliseconds(milliseconds)) == .success })
    }

    /// A wait that gives up when the world ends.
    func waitForever() -> Bool {
        on(
            { $0.wait(timeout: .distantFuture) == .success }, { $0.wait(timeout: .distantFuture) == .success },
            { $0.wait(timeout: .seconds(Int64.max)) == .success })
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

    func notify(on queue: Queue, _ item: Item) {
        and(queue).and(item).on(
            { $0.0.notify(queue: $0.1, work: $1) }, { $0.0.notify(queue: $0.1, work: $1) },
            { $0.0.notify(on: $0.1, execute: $1) })
    }

    /// libdispatch has no such form; the usual substitute is a continuation.
    func wait() async {
        if case .ours(let group) = self { return await group.wait() }
        await withCheckedContinuation { continuation in
            on(
                { $0.notify(queue: .global()) { continuation.resume() } }, { $0.notify(queue: .global()) { continuation.resume() } },
                { _ in })
        }
    }
}
