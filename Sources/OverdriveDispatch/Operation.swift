public import Foundation
internal import OverdriveCore

/// A piece of work with dependencies, a priority and a state, for an ``OperationQueue``; subclassable as Foundation's.
///
///     final class Download: Operation, @unchecked Sendable {
///         override func main() { if !isCancelled { fetch() } }
///     }
///
/// An asynchronous subclass overrides ``start()``, ``isExecuting`` and ``isFinished``, and announces their changes with
/// ``willChangeValue(forKey:)`` and ``didChangeValue(forKey:)``. One that starts late overrides ``isReady`` and announces it.
///
/// - Ordering: What an operation did is visible to those that depend on it, to its completion block and to who waits.
/// - Threading: Safe from any thread.
// All variables change in the section. Nothing that can be overridden is called in it.
open class Operation: NSObject, @unchecked Sendable {
    private enum Stage: Int {
        case new, waiting, starting, executing, finished
    }

    private let section = CriticalSection()
    private var stage = Stage.new
    private var cancelled = false
    private var needed: [ObjectIdentifier: Dependency] = [:]
    private var missing: Set<ObjectIdentifier> = []
    private var dependents: [ObjectIdentifier: Dependent] = [:]
    /// Numbers dependencies and dependents in the order of adding.
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
    }

    /// A dependent keeps its dependencies; a dependency does not keep its dependents.
    private struct Dependent {
        let number: Int
        weak var operation: Operation?
    }

    /// In what order a queue starts operations that are ready.
    public enum QueuePriority: Int, Sendable {
        /// After all others.
        case veryLow = -8
        /// After `normal` ones.
        case low = -4
        /// Makes an operation with default settings.
        case normal = 0
        /// Before `normal` ones.
        case high = 4
        /// Before all others.
        case veryHigh = 8
    }

    /// An operation that does nothing until a subclass says what.
    public override init() {}

    // MARK: - What subclasses override

    /// Does the work. The operation finishes when this returns.
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

    /// Tells the operation to stop. One that has not started becomes ready, never runs ``main()``, and finishes at its
    /// turn; one that runs finds ``isCancelled`` true.
    open func cancel() {
        guard !isFinished else { return }
        let queue = section {
            cancelled = true
            missing = []
            return self.queue
        }
        queue?.readinessMayHaveChanged(of: self)
    }

    /// Whether ``cancel()`` was called.
    open var isCancelled: Bool { section { cancelled } }

    /// Whether it has started and not finished.
    open var isExecuting: Bool { section { stage == .executing } }

    /// Whether the operation has finished or was cancelled.
    open var isFinished: Bool { section { stage == .finished } }

    /// Whether ``start()`` returns before the work is done.
    open var isAsynchronous: Bool { false }

    /// Whether it may start: its dependencies have finished, or it was cancelled.
    open var isReady: Bool { section { missing.isEmpty } }

    // MARK: - Dependencies

    /// Has this operation start only after `op` has finished, in whatever queue that is. Circles are allowed and wait
    /// until one in them is cancelled; an operation that would wait for itself traps.
    open func addDependency(_ op: Operation) {
        if op === self {
            trap("Operation.addDependency(_:): the operation would wait for itself (\(self)). Choose another dependency.")
        }
        let isNew = section {
            guard needed[ObjectIdentifier(op)] == nil else { return false }
            needed[ObjectIdentifier(op)] = Dependency(number: nextNumber, operation: op)
            nextNumber += 1
            if !cancelled { missing.insert(ObjectIdentifier(op)) }
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

    /// Has this operation wait for `op` no longer.
    open func removeDependency(_ op: Operation) {
        // The section is left before the removed references go: a deinitialiser may run.
        _ = op.section { op.dependents.removeValue(forKey: ObjectIdentifier(self)) }
        _ = section { needed.removeValue(forKey: ObjectIdentifier(op)) }
        dependencyIsOver(op)
    }

    /// The dependencies, present and past, in the order in which they were added.
    open var dependencies: [Operation] {
        section { needed }.values.sorted { $0.number < $1.number }.map(\.operation)
    }

    private func dependencyIsOver(_ op: Operation) {
        let queue: OperationQueue? = section {
            guard missing.remove(ObjectIdentifier(op)) != nil, missing.isEmpty else { return nil }
            return self.queue
        }
        queue?.readinessMayHaveChanged(of: self)
    }

    // MARK: - What it is like

    /// In what order its queue starts it among those that are ready. It may change while it waits.
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

    /// How much it matters.
    open var qualityOfService: QualityOfService {
        get { section { quality ?? .default } }
        set { section { quality = newValue } }
    }

    /// What it was told, and not what it has by default.
    var givenQuality: QualityOfService? { section { quality } }

    /// The closure to call when the operation has finished, cancelled or not, on a shared queue. It is called once
    /// and then released.
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

    /// Waits until it has finished. On a worker, another one takes its place.
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

    /// Announces a change; only what comes after it counts.
    open func willChangeValue(forKey key: String) {}

    /// Announces that `isFinished`, `isReady` or `isExecuting` has changed, and has the queue look.
    open func didChangeValue(forKey key: String) {
        switch key {
        case "isFinished", "finished":
            if isFinished { finish() }
        case "isReady", "ready":
            section { queue }?.readinessMayHaveChanged(of: self)
        default:
            break
        }
    }

    /// Announces a change; only what comes after it counts.
    public func willChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {}

    /// Announces that `isFinished`, `isReady` or `isExecuting` has changed, and has the queue look.
    public func didChangeValue<Value>(for keyPath: KeyPath<Operation, Value>) {
        switch keyPath {
        case \Operation.isFinished: didChangeValue(forKey: "isFinished")
        case \Operation.isReady: didChangeValue(forKey: "isReady")
        default: break
        }
    }

    // MARK: - The queue's side

    /// Puts it into a queue, which keeps it until it has finished.
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

    /// Its turn has come.
    func startInQueue() {
        let begins = section {
            guard stage == .waiting else { return false }
            stage = .starting
            return true
        }
        guard begins else { return }
        start()
        // An overridden start() may have finished the work and announced nothing.
        if isFinished { finish() }
    }

    /// The first time: what depends on it becomes ready, and who waits is told, also who comes meanwhile, when its queue has it no
    /// more.
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

/// Overdrive's `Cancellation.isRequested` answers in ``Operation/main()`` for the operation.
extension Operation: CurrentWork {
    package var isRequested: Bool { isCancelled }
}
