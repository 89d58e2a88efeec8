import Foundation
import Overdrive

/// A `BlockOperation`, or a `BlockTask`: work with dependencies.
typealias Unit = Counterpart<BlockOperation, DropIn.BlockOperation, BlockTask>

extension Surface {
    func unit(_ name: String = "unit", _ block: @escaping @Sendable () -> Void) -> Unit {
        let made = pick(BlockOperation(block: block), DropIn.BlockOperation(block: block), BlockTask(block))
        made.on({ $0.name = name }, { $0.name = name }, { $0.name = name })
        return made
    }

    func emptyUnit() -> Unit { pick(BlockOperation(), DropIn.BlockOperation(), BlockTask()) }
}

extension Unit {
    func add(dependency: Unit) {
        and(dependency).on({ $0.addDependency($1) }, { $0.addDependency($1) }, { $0.add(dependency: $1) })
    }

    func remove(dependency: Unit) {
        and(dependency).on({ $0.removeDependency($1) }, { $0.removeDependency($1) }, { $0.remove(dependency: $1) })
    }

    func add(block: @escaping @Sendable () -> Void) {
        on({ $0.addExecutionBlock(block) }, { $0.addExecutionBlock(block) }, { $0.addExecutionBlock(block) })
    }

    /// Called when the unit is over, however it ended.
    func onCompletion(_ body: @escaping @Sendable () -> Void) {
        on({ $0.completionBlock = body }, { $0.completionBlock = body }, { _ = $0.onCompletion { _ in body() } })
    }

    func cancel() { on({ $0.cancel() }, { $0.cancel() }, { $0.cancel() }) }
    func start() { on({ $0.start() }, { $0.start() }, { $0.start() }) }
    func waitUntilFinished() { on({ $0.waitUntilFinished() }, { $0.waitUntilFinished() }, { $0.waitUntilFinished() }) }

    var isFinished: Bool { on({ $0.isFinished }, { $0.isFinished }, { $0.isFinished }) }
    var isExecuting: Bool { on({ $0.isExecuting }, { $0.isExecuting }, { $0.isExecuting }) }
    var isCancelled: Bool { on({ $0.isCancelled }, { $0.isCancelled }, { $0.isCancelled }) }
    var dependencyCount: Int { on({ $0.dependencies.count }, { $0.dependencies.count }, { $0.dependencies.count }) }

    /// Which one it is.
    var identity: Int { on(Self.identity, Self.identity, Self.identity) }

    fileprivate static func identity(_ one: AnyObject) -> Int { ObjectIdentifier(one).hashValue }
}

extension Operations {
    func add(_ unit: Unit) {
        and(unit).on({ $0.addOperation($1) }, { $0.addOperation($1) }, { $0.add(task: $1) })
    }

    /// What the queue says it has, as ``Unit/identity``.
    var listed: [Int] {
        on({ $0.operations.map(Unit.identity) }, { $0.operations.map(Unit.identity) }, { $0.tasks.map(Unit.identity) })
    }

    /// Asks later whether the queue is gone.
    func watch() -> () -> Bool {
        func isGone(_ queue: AnyObject) -> () -> Bool { { [weak queue] in queue == nil } }
        return on(isGone, isGone, isGone)
    }

    func addAndWait(_ units: [Unit]) {
        on(
            { $0.addOperations(units.compactMap { if case .theirs(let unit) = $0 { unit } else { nil } }, waitUntilFinished: true) },
            { $0.addOperations(units.compactMap { if case .dropIn(let unit) = $0 { unit } else { nil } }, waitUntilFinished: true) },
            { $0.add(tasks: units.compactMap { if case .ours(let unit) = $0 { unit } else { nil } }, waitUntilFinished: true) })
    }
}
