// Owns an operation: its state, dependencies, and end. Programs subclass it; OperationQueue starts it. The order among
// operations is in OperationPlan.

public import Foundation
internal import OverdriveCore

/// A unit of work with dependencies, a priority and a state, for an ``OperationQueue``. Subclass it as Foundation's
/// type.
///
///     final class Download: Operation, @unchecked Sendable {
///         override func main() { if !isCancelled { fetch() } }
///     }
///
/// An asynchronous subclass overrides ``start()``, ``isExecuting`` and ``isFinished``, and announces their changes
/// with ``willChangeValue(forKey:)`` and ``didChangeValue(forKey:)``. An operation with its own readiness overrides
/// ``isReady`` and announces its changes.
///
/// - Ordering: The writes of an operation are visible to its dependents, its completion block and its waiters.
/// - Threading: Safe from any thread.
// The section guards all variables. No overridable function is called inside the section.
//
// `Task` has edges with a lock-free count, and refuses a dependency once it is ready. An operation does not: it waits for
// late dependencies, for subclasses that say when they are ready, and a cancel makes it ready. Its edges are a table.
open class Operation: NSObject, @unchecked Sendable {
    private enum Stage: Int {
        case new, waiting, starting, executing, finished
    }

    private let section = CriticalSection()
    private var stage = Stage.new
    private var cancelled = false
    private var needed: [ObjectIdentifier: Dependency] = [:]
    /// The number of dependencies that have not finished. A cancelled operation does not wait for them.
    private var missing = 0
    private var dependents: [ObjectIdentifier: Dependent] = [:]
    /// The next number for a dependency or dependent, in the order of additions.
    private var nextNumber = 0
    /// Whether ``start()`` of this class called ``main()``.
    private var ranMain = false
    private var completion: (@Sendable () -> Void)?
    private var title: String?
    private var quality: QualityOfService?
    private var priority = QueuePriority.normal
    private var queue: OperationQueue?
    private var waiters: WaitGroup?

    private struct Dependency {
        let number: Int
        let operation: Operation
        var isMissing = true
    }

    /// A dependent retains its dependencies. A dependency does not retain its dependents.
    private struct Dependent {
        let number: Int
        weak var operation: Operation?
    }

    /// The order in which a queue starts ready operations.
    public enum QueuePriority: Int, Sendable {
        /// After all others.
        case veryLow = -8
        /// After `normal` ones.
        case low = -4
        /// The default priority.
        case normal = 0
        /// Before `normal` ones.
        case high = 4
        /// Before all others.
        case veryHigh = 8
    }

    /// Creates an operation. A subclass defines its work.
    public override init() {}

    /// Releases the dependencies in a loop. A chain may have a million of them, and recursion would overflow the stack.
    deinit {
        guard !needed.isEmpty else { return }
        var pending = needed.values.map(\.operation)
        needed = [:]
        while var operation = pending.popLast() {
            guard isKnownUniquelyReferenced(&operation) else { continue }
            pending += operation.takeDependencies().map(\.operation)
        }
    }

    /// Takes the dependencies of an operation that only the caller references. They are released after the section.
    private func takeDependencies() -> [Dependency] {
        section {
            defer { needed = [:] }
            return Array(needed.values)
        }
    }

    // MARK: - What subclasses override

    /// Does the work. The operation finishes when this function returns.
    open func main() {}

    /// Starts the operation: calls ``main()`` unless it was cancelled, and finishes.
    ///
    /// Called by a queue. If the program calls it on an operation in no queue, the operation runs on the calling
    /// thread. Traps if the operation is not ready, runs, or is in a queue.
    open func start() {
        let isQueued = section { stage == .starting }
        if !isQueued, section({ stage == .new }), !isReady {
            trap("Operation.start(): a dependency has not finished (\(self)). Wait until isReady.")
        }
        let begins = section {
            switch stage {
            case .new, .starting:
                stage = .executing
                return true
            case .finished:
                return false
            case .executing:
                trap("Operation.start(): the operation is executing. Call it once.")
            case .waiting:
                trap("Operation.start(): the operation is in a queue. Leave the start to the queue.")
            }
        }
        guard begins else { return }
        if !isCancelled {
            section { ranMain = true }
            whileCurrent { main() }
        }
        finish()
    }

    /// Asks the operation to stop. If it has not started, it becomes ready and finishes at its turn without
    /// ``main()``. If it runs, ``isCancelled`` becomes true.
    open func cancel() {
        guard !isFinished else { return }
        section { cancelled = true }
        readinessMayHaveChanged()
    }

    /// Whether ``cancel()`` was called.
    open var isCancelled: Bool { section { cancelled } }

    /// Whether the operation has started and has not finished.
    open var isExecuting: Bool { section { stage == .executing } }

    /// Whether the operation has finished, including after a cancel.
    open var isFinished: Bool { section { stage == .finished } }

    /// Whether ``start()`` returns before the work is done.
    open var isAsynchronous: Bool { false }

    /// Whether the operation may start: its dependencies have finished, or it was cancelled.
    open var isReady: Bool { section { missing == 0 || cancelled } }

    // MARK: - Dependencies

    /// Makes this operation start only after `op` has finished, in any queue. Operations in a cycle wait until one of
    /// them is cancelled. Traps if `op` is this operation.
    open func addDependency(_ op: Operation) {
        if op === self {
            trap("Operation.addDependency(_:): the operation would wait for itself (\(self)). Choose another dependency.")
        }
        let isNew = section {
            guard needed[ObjectIdentifier(op)] == nil else { return false }
            needed[ObjectIdentifier(op)] = Dependency(number: nextNumber, operation: op)
            nextNumber += 1
            missing += 1
            return true
        }
        guard isNew else { return }
        let isOver = op.section {
            if op.stage != .finished {
                op.dependents[ObjectIdentifier(self)] = Dependent(number: op.nextNumber, operation: self)
                op.nextNumber += 1
            }
            return op.stage == .finished
        }
        if isOver { dependencyIsOver(op) }
    }

    /// Removes a dependency.
    open func removeDependency(_ op: Operation) {
        // Removed references are released after the section, because a deinitialiser may run.
        _ = op.section { op.dependents.removeValue(forKey: ObjectIdentifier(self)) }
        let (removed, isLast) = section { () -> (Dependency?, Bool) in
            let removed = needed.removeValue(forKey: ObjectIdentifier(op))
            guard removed?.isMissing == true else { return (removed, false) }
            missing -= 1
            return (removed, missing == 0)
        }
        if isLast { readinessMayHaveChanged() }
        withExtendedLifetime(removed) {}
    }

    /// The dependencies, finished ones included, in the order in which they were added.
    open var dependencies: [Operation] {
        section { needed }.values.sorted { $0.number < $1.number }.map(\.operation)
    }

    private func dependencyIsOver(_ op: Operation) {
        let isLast = section {
            guard needed[ObjectIdentifier(op)]?.isMissing == true else { return false }
            needed[ObjectIdentifier(op)]?.isMissing = false
            missing -= 1
            return missing == 0
        }
        if isLast { readinessMayHaveChanged() }
    }

    private func readinessMayHaveChanged() { section { queue }?.readinessMayHaveChanged(of: self) }

    // MARK: - What it is like

    /// The priority among the ready operations of a queue. It may change while the operation waits.
    open var queuePriority: QueuePriority {
        get { section { priority } }
        set {
            let queue = section {
                priority = newValue
                return self.queue
            }
            queue?.priorityHasChanged(of: self)
        }
    }

    /// The quality of service.
    open var qualityOfService: QualityOfService {
        get { section { quality ?? .default } }
        set { section { quality = newValue } }
    }

    /// The quality of service that the program has set; nil if it has set none.
    var givenQuality: QualityOfService? { section { quality } }

    /// The closure to call on a shared queue when the operation has finished or was cancelled. It is called once and
    /// then released.
    @preconcurrency
    open var completionBlock: (@Sendable () -> Void)? {
        get { section { completion } }
        set { section { completion = newValue } }
    }

    /// The operation's name in reports.
    open var name: String? {
        get { section { title } }
        set { section { title = newValue } }
    }

    // MARK: - Waiting

    /// Waits until the operation has finished. A spare replaces a blocked worker.
    @available(*, noasync, message: "it blocks the thread: use completionBlock")
    open func waitUntilFinished() {
        let waiters: WaitGroup? = section {
            guard stage != .finished || queue != nil else { return nil }
            if let waiters = self.waiters { return waiters }
            let new = WaitGroup()
            new.enter()
            self.waiters = new
            return new
        }
        waiters?.wait()
    }

    // MARK: - Announcements

    /// Announces a change. It has no effect; only ``didChangeValue(forKey:)`` has one.
    open func willChangeValue(forKey key: String) {}

    /// Announces that `isFinished`, `isReady` or `isExecuting` has changed. The queue then reads the property.
    open func didChangeValue(forKey key: String) {
        switch key {
        case "isFinished", "finished":
            if isFinished { finish() }
        case "isReady", "ready":
            readinessMayHaveChanged()
        default:
            break
        }
    }

    /// Announces a change. It has no effect.
    public func willChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {}

    /// Announces that `isFinished`, `isReady` or `isExecuting` has changed. The queue then reads the property.
    public func didChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {
        switch keyPath {
        case \Operation.isFinished: didChangeValue(forKey: "isFinished")
        case \Operation.isReady: didChangeValue(forKey: "isReady")
        default: break
        }
    }

    // MARK: - The queue's side

    /// Adds the operation to a queue, which retains it until it has finished.
    func enter(_ new: OperationQueue) {
        section {
            guard stage == .new, queue == nil else {
                trap(
                    "OperationQueue.addOperation(_:): the operation has finished, is executing or is in a queue. "
                        + "Make a new operation.")
            }
            stage = .waiting
            queue = new
        }
    }

    /// Starts the operation, when its turn in the queue has come.
    func startInQueue() {
        let begins = section {
            guard stage == .waiting else { return false }
            stage = .starting
            return true
        }
        guard begins else { return }
        start()
        // An overridden start() may have finished the work without an announcement.
        if isFinished { finish() }
    }

    /// Finishes the operation; only the first call has an effect. Releases the dependents, leaves the queue, and then
    /// wakes the waiters.
    private func finish() {
        var dependents: [ObjectIdentifier: Dependent] = [:]
        var completion: (@Sendable () -> Void)?
        let (isFirst, queue, counts) = section {
            guard stage != .finished else { return (false, nil as OperationQueue?, false) }
            stage = .finished
            swap(&dependents, &self.dependents)
            swap(&completion, &self.completion)
            return (true, self.queue, ranMain)
        }
        guard isFirst else { return }
        for dependent in dependents.values.sorted(by: { $0.number < $1.number }) {
            dependent.operation?.dependencyIsOver(self)
        }
        queue?.isOver(self, ranMain: counts, completion: completion)
        let waiters = section { () -> WaitGroup? in
            self.queue = nil
            return self.waiters.take()
        }
        waiters?.leave()
        if let completion, queue == nil { DispatchQueue.global().async(execute: completion) }
    }
}

/// `Cancellation.isRequested` returns the operation's state inside ``Operation/main()``.
extension Operation: CurrentWork {
    package var isRequested: Bool { isCancelled }
}
