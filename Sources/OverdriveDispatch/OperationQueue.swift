public import Foundation
internal import OverdriveCore
internal import Synchronization

/// Starts operations as they become ready, the most important first, so many at a time; as Foundation's.
///
///     let downloads = OperationQueue()
///     downloads.maxConcurrentOperationCount = 4
///     downloads.addOperations(parts, waitUntilFinished: true)
///
/// - Ordering: Of those that are ready the highest ``Operation/queuePriority`` starts first, and of equals the one that
///   was added first. An operation whose priority changes in the queue goes behind the others of its new priority.
/// - Threading: Safe from any thread. The queue lives as long as it has operations.
/// - Cost: An operation costs a few short critical sections and one submission.
// All variables change in the section. Nothing that can be overridden is called in it.
open class OperationQueue: NSObject, ProgressReporting, @unchecked Sendable {
    /// As many at a time as the machine has workers for.
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

    /// Operations and barriers that have not finished.
    private let pending = WaitGroup()

    /// A queue without a limit.
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

    /// The queue that started the operation that the caller is in; the main one on the main thread; nil elsewhere.
    open class var current: OperationQueue? {
        ThreadScope<OperationQueue>.current ?? (DispatchQueue.main.isCurrent ? mainQueue : nil)
    }

    // MARK: - Adding

    /// Adds an operation, which starts when it is ready and its turn has come. One that is in a queue already, or has
    /// finished, traps.
    open func addOperation(_ op: Operation) {
        op.enter(self)
        pending.enter()
        let priority = op.queuePriority
        section { plan.add(op, priority: priority) }
        readinessMayHaveChanged(of: op)
    }

    /// Adds operations, and waits for them if asked to.
    open func addOperations(_ ops: [Operation], waitUntilFinished wait: Bool) {
        for op in ops { addOperation(op) }
        if wait { for op in ops { op.waitUntilFinished() } }
    }

    /// Adds a closure as an operation.
    @preconcurrency
    open func addOperation(_ block: @escaping @Sendable () -> Void) {
        addOperation(BlockOperation(block: block))
    }

    /// Runs `barrier` alone, when all that was added before has finished, and before all that is added after.
    @preconcurrency
    open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        pending.enter()
        section { plan.add(barrier: barrier) }
        startWhatMay()
    }

    // MARK: - Control

    /// How many run at a time: 1 or more, or ``defaultMaxConcurrentOperationCount``. With 0 nothing starts.
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

    /// Whether operations are kept from starting; those that run go on. The main queue never is.
    open var isSuspended: Bool {
        get { section { suspended } }
        set {
            guard !isMain else { return }
            section { suspended = newValue }
            if !newValue { startWhatMay() }
        }
    }

    /// Cancels all operations, also those that run, and takes barrier blocks back.
    open func cancelAllOperations() {
        let operations = section {
            plan.dropBarriers()
            return plan.operations
        }
        for op in operations { op.cancel() }
        startWhatMay()
    }

    /// Waits until nothing is left. From one of the queue's own operations it would wait for itself: it traps.
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

    /// How much its operations matter that do not say so themselves.
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

    /// Operations that have not finished, in the order of adding. A hint while they come and go.
    open var operations: [Operation] { section { plan.operations } }

    /// How many operations have not finished.
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

    /// Forgets an operation that has finished. Threads that wait for the queue return as the call of
    /// `completion` begins.
    ///
    /// - Parameter ranMain: Whether the operation counts in ``progress``.
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
            // Before the call: the block may itself wait for the queue.
            self.pending.leave()
            completion()
        }
    }

    // MARK: - Starting

    /// Submits a start for each operation that may run now. Which one it is, is decided when the start's turn has come.
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
            // A dependency may have been added, or an overridden isReady may have changed, since the operation became ready.
            if op.isReady { return ThreadScope.with(self) { op.startInQueue() } }
            section { plan.isNotReady(op) }
            // The operation may have become ready between the two looks.
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

    /// In the section.
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
