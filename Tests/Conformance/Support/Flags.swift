import Foundation
import OverdriveCore

extension Queue {
    func asyncBarrier(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.async(flags: .barrier, execute: body)
        case .dropIn(let queue): queue.async(flags: .barrier, execute: body)
        case .ours(let queue): queue.async(flags: .barrier, execute: body)
        }
    }

    func asyncBarrier(group: Group, _ body: @escaping @Sendable () -> Void) {
        switch (self, group) {
        case (.theirs(let queue), .theirs(let group)): queue.async(group: group, flags: .barrier, execute: body)
        case (.dropIn(let queue), .dropIn(let group)): queue.async(group: group, flags: .barrier, execute: body)
        case (.ours(let queue), .ours(let group)): queue.async(group: group, flags: .barrier, execute: body)
        default: preconditionFailure("a queue and a group of two surfaces")
        }
    }

    func syncBarrier<R>(_ body: () throws -> R) rethrows -> R {
        switch self {
        case .theirs(let queue): try queue.sync(flags: .barrier, execute: body)
        case .dropIn(let queue): try queue.sync(flags: .barrier, execute: body)
        case .ours(let queue): try queue.sync(flags: .barrier, execute: body)
        }
    }
}

extension Surface {
    func barrierItem(_ body: @escaping @Sendable () -> Void) -> Item {
        switch self {
        case .libdispatch: .theirs(DispatchWorkItem(flags: .barrier, block: body))
        case .dropIn: .dropIn(DropIn.DispatchWorkItem(flags: .barrier, block: body))
        case .overdrive: .ours(WorkItem(flags: .barrier, execute: body))
        }
    }
}

extension Operations {
    func addBarrier(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.addBarrierBlock(body)
        case .dropIn(let queue): queue.addBarrierBlock(body)
        case .ours(let queue): queue.async(flags: .barrier, execute: body)
        }
    }
}
