import Foundation
import Overdrive

/// A `BlockOperation`, or a `BlockTask`: work with dependencies.
enum Unit: @unchecked Sendable {
    case theirs(BlockOperation)
    case dropIn(DropIn.BlockOperation)
    case ours(BlockTask)

    func add(dependency: Unit) {
        switch (self, dependency) {
        case (.theirs(let unit), .theirs(let dependency)): unit.addDependency(dependency)
        case (.dropIn(let unit), .dropIn(let dependency)): unit.addDependency(dependency)
        case (.ours(let unit), .ours(let dependency)): unit.add(dependency: dependency)
        default: preconditionFailure("units of two surfaces")
        }
    }

    func remove(dependency: Unit) {
        switch (self, dependency) {
        case (.theirs(let unit), .theirs(let dependency)): unit.removeDependency(dependency)
        case (.dropIn(let unit), .dropIn(let dependency)): unit.removeDependency(dependency)
        case (.ours(let unit), .ours(let dependency)): unit.remove(dependency: dependency)
        default: preconditionFailure("units of two surfaces")
        }
    }

    func add(block: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let unit): unit.addExecutionBlock(block)
        case .dropIn(let unit): unit.addExecutionBlock(block)
        case .ours(let unit): unit.addExecutionBlock(block)
        }
    }

    /// Called when the unit is over, however it ended.
    func onCompletion(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let unit): unit.completionBlock = body
        case .dropIn(let unit): unit.completionBlock = body
        case .ours(let unit): unit.onCompletion { _ in body() }
        }
    }

    func cancel() {
        switch self {
        case .theirs(let unit): unit.cancel()
        case .dropIn(let unit): unit.cancel()
        case .ours(let unit): unit.cancel()
        }
    }

    func start() {
        switch self {
        case .theirs(let unit): unit.start()
        case .dropIn(let unit): unit.start()
        case .ours(let unit): unit.start()
        }
    }

    func waitUntilFinished() {
        switch self {
        case .theirs(let unit): unit.waitUntilFinished()
        case .dropIn(let unit): unit.waitUntilFinished()
        case .ours(let unit): unit.waitUntilFinished()
        }
    }

    var isFinished: Bool {
        switch self {
        case .theirs(let unit): unit.isFinished
        case .dropIn(let unit): unit.isFinished
        case .ours(let unit): unit.isFinished
        }
    }

    var isExecuting: Bool {
        switch self {
        case .theirs(let unit): unit.isExecuting
        case .dropIn(let unit): unit.isExecuting
        case .ours(let unit): unit.isExecuting
        }
    }

    var isCancelled: Bool {
        switch self {
        case .theirs(let unit): unit.isCancelled
        case .dropIn(let unit): unit.isCancelled
        case .ours(let unit): unit.isCancelled
        }
    }

    /// Which one it is.
    var identity: Int {
        switch self {
        case .theirs(let unit): ObjectIdentifier(unit).hashValue
        case .dropIn(let unit): ObjectIdentifier(unit).hashValue
        case .ours(let unit): ObjectIdentifier(unit).hashValue
        }
    }

    var dependencyCount: Int {
        switch self {
        case .theirs(let unit): unit.dependencies.count
        case .dropIn(let unit): unit.dependencies.count
        case .ours(let unit): unit.dependencies.count
        }
    }
}

extension Surface {
    func unit(_ name: String = "unit", _ block: @escaping @Sendable () -> Void) -> Unit {
        switch self {
        case .libdispatch:
            let unit = BlockOperation(block: block)
            unit.name = name
            return .theirs(unit)
        case .dropIn:
            let unit = DropIn.BlockOperation(block: block)
            unit.name = name
            return .dropIn(unit)
        case .overdrive:
            let unit = BlockTask(block)
            unit.name = name
            return .ours(unit)
        }
    }

    func emptyUnit() -> Unit {
        switch self {
        case .libdispatch: .theirs(BlockOperation())
        case .dropIn: .dropIn(DropIn.BlockOperation())
        case .overdrive: .ours(BlockTask())
        }
    }
}

extension Operations {
    func add(_ unit: Unit) {
        switch (self, unit) {
        case (.theirs(let queue), .theirs(let unit)): queue.addOperation(unit)
        case (.dropIn(let queue), .dropIn(let unit)): queue.addOperation(unit)
        case (.ours(let queue), .ours(let unit)): queue.add(task: unit)
        default: preconditionFailure("a queue and a unit of two surfaces")
        }
    }

    /// What the queue says it has, as ``Unit/identity``.
    var listed: [Int] {
        switch self {
        case .theirs(let queue): queue.operations.map { ObjectIdentifier($0).hashValue }
        case .dropIn(let queue): queue.operations.map { ObjectIdentifier($0).hashValue }
        case .ours(let queue): queue.tasks.map { ObjectIdentifier($0).hashValue }
        }
    }

    /// Asks later whether the queue is gone.
    func watch() -> () -> Bool {
        switch self {
        case .theirs(let queue): { [weak queue] in queue == nil }
        case .dropIn(let queue): { [weak queue] in queue == nil }
        case .ours(let queue): { [weak queue] in queue == nil }
        }
    }

    func addAndWait(_ units: [Unit]) {
        switch self {
        case .theirs(let queue):
            queue.addOperations(
                units.compactMap { if case .theirs(let unit) = $0 { unit } else { nil } }, waitUntilFinished: true)
        case .dropIn(let queue):
            queue.addOperations(
                units.compactMap { if case .dropIn(let unit) = $0 { unit } else { nil } }, waitUntilFinished: true)
        case .ours(let queue):
            queue.add(
                tasks: units.compactMap { if case .ours(let unit) = $0 { unit } else { nil } },
                waitUntilFinished: true)
        }
    }
}
