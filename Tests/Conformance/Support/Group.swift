import Dispatch
import OverdriveCore

/// A `DispatchGroup` or a `WaitGroup`.
enum Group: Sendable {
    case theirs(DispatchGroup)
    case dropIn(DropIn.DispatchGroup)
    case ours(WaitGroup)

    func enter() {
        switch self {
        case .theirs(let group): group.enter()
        case .dropIn(let group): group.enter()
        case .ours(let group): group.enter()
        }
    }

    func leave() {
        switch self {
        case .theirs(let group): group.leave()
        case .dropIn(let group): group.leave()
        case .ours(let group): group.leave()
        }
    }

    func wait() {
        switch self {
        case .theirs(let group): group.wait()
        case .dropIn(let group): group.wait()
        case .ours(let group): group.wait()
        }
    }

    /// Whether the group was empty in time.
    func wait(milliseconds: Int) -> Bool {
        switch self {
        case .theirs(let group): group.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .dropIn(let group): group.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .ours(let group): group.wait(timeout: .milliseconds(milliseconds)) == .success
        }
    }

    /// A wait that gives up when the world ends.
    func waitForever() -> Bool {
        switch self {
        case .theirs(let group): group.wait(timeout: .distantFuture) == .success
        case .dropIn(let group): group.wait(timeout: .distantFuture) == .success
        case .ours(let group): group.wait(timeout: .seconds(Int64.max)) == .success
        }
    }

    func notify(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        switch (self, queue) {
        case (.theirs(let group), .theirs(let queue)): group.notify(queue: queue, execute: body)
        case (.dropIn(let group), .dropIn(let queue)): group.notify(queue: queue, execute: body)
        case (.ours(let group), .ours(let queue)): group.notify(on: queue, execute: body)
        default: preconditionFailure("a group and a queue of two surfaces")
        }
    }

    /// As a barrier of `queue`.
    func notifyAlone(on queue: Queue, _ body: @escaping @Sendable () -> Void) {
        switch (self, queue) {
        case (.theirs(let group), .theirs(let queue)): group.notify(flags: .barrier, queue: queue, execute: body)
        case (.dropIn(let group), .dropIn(let queue)): group.notify(flags: .barrier, queue: queue, execute: body)
        case (.ours(let group), .ours(let queue)): group.notify(on: queue, flags: .barrier, execute: body)
        default: preconditionFailure("a group and a queue of two surfaces")
        }
    }

    /// libdispatch has no such form; the usual substitute is a continuation.
    func wait() async {
        switch self {
        case .theirs(let group):
            await withCheckedContinuation { continuation in
                group.notify(queue: .global()) { continuation.resume() }
            }
        case .dropIn(let group):
            await withCheckedContinuation { continuation in
                group.notify(queue: .global()) { continuation.resume() }
            }
        case .ours(let group): await group.wait()
        }
    }
}
