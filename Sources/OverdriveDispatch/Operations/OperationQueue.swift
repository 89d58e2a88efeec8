// Owns the queue of operations. Programs add operations, which report their readiness and end. It decides when, and
// OperationPlan decides which operation starts.

public import Foundation
internal import OverdriveCore
internal import Synchronization

/// Starts ready operations by priority, up to a limit at a time, like Foundation's type.
///
///     let downloads = OperationQueue()
///     downloads.maxConcurrentOperationCount = 4
///     downloads.addOperations(parts, waitUntilFinished: true)
///
/// - Ordering: The ready operation with the highest ``Operation/queuePriority`` starts first. Among equals, the first
///   one added starts first. An operation whose priority changes in the queue goes behind the others of its new
///   priority.
/// - Threading: Safe from any thread. The queue exists as long as it has operations.
/// - Cost: An operation costs a few short critical sections and one submission.
// The section guards all variables. No overridable function is called inside the section.
open class OperationQueue: NSObject, ProgressReporting, @unchecked Sendable {
    /// The default limit: one operation for each worker of the machine.
    public static let defaultMaxConcurrentOperationCount = -1

    private let section = CriticalSection()
    private var plan = OperationPlan()
    private var limit = OperationQueue.defaultMaxConcurrentOperationCount
    private var suspended = false
    private var title: String?
    private var quality: QualityOfService?
    private var given: DispatchQueue?
    private var own: DispatchQueue?
    private var counter: Progress?
    private let isMain: Bool

    /// Counts operations and barriers that have not finished.
    private let pending = WaitGroup()

    /// Creates a queue without a limit.
    public override init() {
        isMain = false
    }

    private init(main: DispatchQueue) {
        isMain = true
        limit = 1
        given = main
        quality = .userInteractive
        title = "NSOperationQueue Main Queue"
    }

    /// The queue of the process's main thread.
    open class var main: OperationQueue { mainQueue }
    private static let mainQueue = OperationQueue(main: .main)

    /// The queue that started the current operation; the main queue on the main thread; nil elsewhere.
    open class var current: OperationQueue? {
        ThreadScope<OperationQueue>.current ?? (DispatchQueue.main.isCurrent ? mainQueue : nil)
    }

    // MARK: - Adding

    /// Adds an operation, which starts when it is ready and its turn has come. Traps if the operation is in a queue
    /// or has finished.
    open func addOperation(_ op: Operation) {
        op.enter(self)
        pending.enter()
        let priority = op.queuePriority
        section { plan.add(op, priority: priority) }
        readinessMayHaveChanged(of: op)
    }

    /// Adds operations, and optionally waits for them.
    open func addOperations(_ ops: [Operation], waitUntilFinished wait: Bool) {
        for op in ops { addOperation(op) }
        if wait { for op in ops { op.waitUntilFinished() } }
    }

    /// Adds a closure as an operation.
    @preconcurrency
    open func addOperation(_ block: @escaping @Sendable () -> Void) {
        addOperation(BlockOperation(block: block))
    }

    /// Runs `barrier` alone, after all earlier operations and before all later ones.
    @preconcurrency
    open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        pending.enter()
        section { plan.add(barrier: barrier) }
        startWhatMay()
    }

    // MARK: - Control

    /// The largest number of operations at a time: 0 or more, or ``defaultMaxConcurrentOperationCount``. With 0 no
    /// operation starts.
    open var maxConcurrentOperationCount: Int {
        get { section { limit } }
        set {
            guard newValue >= OperationQueue.defaultMaxConcurrentOperationCount else {
                trap("OperationQueue.maxConcurrentOperationCount: out of range (\(newValue)). Choose 0 or more, or the default, -1.")
            }
            guard !isMain else { return }
            section { limit = newValue }
            startWhatMay()
        }
    }

    /// Whether no further operation starts. Running operations continue. The main queue cannot be suspended.
    open var isSuspended: Bool {
        get { section { suspended } }
        set {
            guard !isMain else { return }
            section { suspended = newValue }
            if !newValue { startWhatMay() }
        }
    }

    /// Cancels all operations, including running ones, and discards barriers that have not begun.
    open func cancelAllOperations() {
        let operations = section {
            plan.dropBarriers()
            return plan.operations
        }
        for op in operations { op.cancel() }
        startWhatMay()
    }

    /// Waits until the queue is empty. Traps in an operation of the queue, which would wait for itself.
    @available(*, noasync, message: "it blocks the thread: use addBarrierBlock(_:)")
    open func waitUntilAllOperationsAreFinished() {
        if OperationQueue.current === self {
            trap("OperationQueue.waitUntilAllOperationsAreFinished(): an operation of the queue would wait for itself. Wait elsewhere.")
        }
        pending.wait()
    }

    // MARK: - What it is like

    /// The queue's name in reports: `NSOperationQueue` and the queue's address, unless another name was set.
    open var name: String? {
        get { unsafe section { title } ?? "NSOperationQueue \(Unmanaged.passUnretained(self).toOpaque())" }
        set { section { title = newValue } }
    }

    /// The quality of service for operations that have none.
    open var qualityOfService: QualityOfService {
        get { section { quality ?? .default } }
        set { section { quality = newValue } }
    }

    /// The dispatch queue that runs the operations; nil for a private one. Traps while operations are in the queue.
    open var underlyingQueue: DispatchQueue? {
        get { section { given } }
        set {
            guard !isMain else { trap("OperationQueue.main.underlyingQueue: cannot be changed. Make another queue.") }
            section {
                guard plan.isEmpty else {
                    trap("OperationQueue.underlyingQueue: the queue has operations. Set it before adding any.")
                }
                given = newValue
            }
        }
    }

    /// The unfinished operations, in the order of their additions. The list may be out of date at once.
    open var operations: [Operation] { section { plan.operations } }

    /// The number of unfinished operations.
    open var operationCount: Int { section { plan.count } }

    /// Counts finished operations, once its `totalUnitCount` was set. An operation counts if ``Operation/start()``
    /// called its ``Operation/main()``. Operations that were cancelled before their start, or that override
    /// `start()`, do not count.
    open var progress: Progress {
        section {
            if let counter { return counter }
            let new = Progress(totalUnitCount: 0)
            counter = new
            return new
        }
    }

    // MARK: - The operations' side

    func readinessMayHaveChanged(of op: Operation) {
        guard op.isReady else { return }
        let priority = op.queuePriority
        section { plan.isReady(op, priority: priority) }
        startWhatMay()
    }

    func priorityHasChanged(of op: Operation) {
        let priority = op.queuePriority
        section { plan.setPriority(of: op, priority) }
    }

    /// Removes a finished operation. Threads that wait for the queue return when the call of `completion` begins.
    ///
    /// - Parameters:
    ///   - ranMain: Whether the operation counts in ``progress``.
    ///   - completion: The operation's completion block.
    func isOver(_ op: Operation, ranMain: Bool, completion: (@Sendable () -> Void)?) {
        let counter = section {
            plan.remove(op)
            return self.counter
        }
        if ranMain, let counter, counter.totalUnitCount > 0 {
            section { counter.completedUnitCount += 1 }
        }
        startWhatMay()
        guard let completion else { return pending.leave() }
        DispatchQueue.global().async {
            // This precedes the call, because the block may wait for the queue.
            self.pending.leave()
            completion()
        }
    }

    // MARK: - Starting

    /// Submits a start for each operation that may run now. Each start chooses its operation when it runs.
    private func startWhatMay() {
        var queue: DispatchQueue?
        let (starts, barrier) = section { () -> (Int, (@Sendable () -> Void)?) in
            guard !suspended else { return (0, nil) }
            let barrier = plan.takeBarrier()
            let starts = plan.takeStarts(limit: limit < 0 ? .max : limit)
            if starts > 0 || barrier != nil { queue = backing() }
            return (starts, barrier)
        }
        guard let queue else { return }
        if let barrier {
            queue.async {
                ThreadScope.with(self) { barrier() }
                self.section { self.plan.barrierIsOver() }
                self.startWhatMay()
                self.pending.leave()
            }
        }
        for _ in 0..<starts {
            queue.async(qos: section { plan.bestQuality ?? quality }?.dispatched ?? .unspecified) { self.startOne() }
        }
    }

    private func startOne() {
        section { plan.startIsThere() }
        while let op = takeBest() {
            // The operation may no longer be ready: a dependency was added, or an overridden isReady has
            // changed.
            if op.isReady { return ThreadScope.with(self) { op.startInQueue() } }
            section { plan.isNotReady(op) }
            // The operation may have become ready between the two checks.
            readinessMayHaveChanged(of: op)
        }
        startWhatMay()
    }

    private func takeBest() -> Operation? {
        section {
            guard !suspended else { return nil }
            return plan.takeBest(limit: limit < 0 ? .max : limit)
        }
    }

    /// Returns the queue that runs the operations. Called inside the section.
    private func backing() -> DispatchQueue {
        if let queue = given ?? own { return queue }
        let new = DispatchQueue(
            label: title ?? "OperationQueue", qos: quality?.dispatched ?? .unspecified, attributes: .concurrent)
        own = new
        return new
    }
}

extension QualityOfService {
    var dispatched: DispatchQoS {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .utility: .utility
        case .background: .background
        default: .default
        }
    }
}
