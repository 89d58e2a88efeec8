internal import OverdriveCore
internal import Synchronization

extension TaskQueue {
    /// Where tasks go on by themselves: not on everybody's queues, whose closures anybody may take back.
    static let inner = TaskQueue()
}

/// The unfinished tasks of one queue, and its delegate. The queue keeps its tasks by this.
final class QueueTasks: TaskRegistry {
    private let registry = Registry()
    private let waiters = Locked<[@Sendable () -> Void]>([])
    private let hasWaiters = Atomic(false)

    private struct Delegate {
        weak var value: (any TaskQueueDelegate)?
    }
    private let delegateSlot = Locked<Delegate>(Delegate())
    private let hasDelegate = Atomic(false)
    private let isTiming = Atomic(false)

    /// The queue's, for as long as `body` takes: without a count of references that all threads would change.
    @inline(__always)
    static func with<R>(_ queue: TaskQueue, _ body: (QueueTasks) -> R) -> R {
        // Nobody else stores anything there. Acquires what it was made of.
        let stored = queue.taskStorage.load(ordering: .acquiring)
        return unsafe (UnsafeRawPointer(bitPattern: stored).map(at) ?? make(for: queue))._withUnsafeGuaranteedRef(body)
    }

    static func of(_ queue: TaskQueue) -> QueueTasks {
        with(queue) { $0 }
    }

    private static func at(_ address: UnsafeRawPointer) -> Unmanaged<QueueTasks> {
        unsafe Unmanaged<QueueTasks>.fromOpaque(address)
    }

    private static func make(for queue: TaskQueue) -> Unmanaged<QueueTasks> {
        let mine = unsafe Unmanaged.passRetained(QueueTasks())
        let (stored, found) = unsafe queue.taskStorage.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe UnsafeRawPointer(bitPattern: found) else { return unsafe mine }
        unsafe mine.release()
        return unsafe at(found)
    }

    // MARK: - Coming and going

    // A task's place is 0 until it has one. Then it is the registry's, to whose bits two are added:

    /// The delegate is being told that the task is added; whoever tells it gives the place out afterwards.
    private static let announcing = UInt64.max - 1
    /// There is no place any more.
    private static let gone = UInt64.max
    /// The delegate was told that the task will finish.
    private static let endIsAnnounced = UInt64(1) << 62
    /// A delegate was told that the task is added: it is that one, and no other, who hears of the task.
    private static let addIsAnnounced = UInt64(1) << 61

    /// Keeps the task until ``unregister(_:from:)``, and tells the delegate, unless it is kept already, or was.
    func register(_ task: AnyTask, in queue: TaskQueue) {
        // relaxed: the exchanges below decide
        guard task.place.load(ordering: .relaxed) == 0 else { return }
        watch(task, in: queue)
        let delegate = currentDelegate
        if delegate != nil {
            // relaxed: nothing is handed over with it
            guard task.place.compareExchange(expected: 0, desired: QueueTasks.announcing, ordering: .relaxed).exchanged
            else { return }
            task.makeExtras().locked { $0.delegate = delegate }
        }
        let kept = unsafe Unmanaged.passRetained(task)
        let place = unsafe registry.add(kept.toOpaque())
        if let delegate { task.tell(delegate, of: .didAdd, in: queue) }
        // Releases the place to whoever takes it from the task.
        let isKept = task.place.compareExchange(
            expected: delegate == nil ? 0 : QueueTasks.announcing,
            desired: delegate == nil ? place : place | QueueTasks.addIsAnnounced, ordering: .acquiringAndReleasing
        ).exchanged
        if isKept { return }
        // Another thread was faster, or the task was over before the delegate knew of it.
        if delegate != nil { tellEnd(of: task, in: queue, at: place | QueueTasks.addIsAnnounced) }
        unsafe leave(place, kept)
    }

    /// Has the task timed and counted, where the queue does so.
    func watch(_ task: AnyTask, in queue: TaskQueue) {
        if timesTasks { task.isTimed = true }
        task.countInProgress(of: queue)
    }

    /// The task is over, or was when it came: whoever takes its place gives it up, and tells the delegate.
    func unregister(_ task: AnyTask, from queue: TaskQueue) {
        task.endProgress()
        // Acquires the place.
        let place = task.place.exchange(QueueTasks.gone, ordering: .acquiring)
        guard place != 0, place != QueueTasks.announcing, place != QueueTasks.gone else { return }
        tellEnd(of: task, in: queue, at: place)
        unsafe leave(place & ~(QueueTasks.endIsAnnounced | QueueTasks.addIsAnnounced), Unmanaged.passUnretained(task))
    }

    /// The task's outcome is about to be published.
    func announceEnd(of task: AnyTask, in queue: TaskQueue) {
        let place = task.place.load(ordering: .relaxed)  // relaxed: the exchange below decides
        guard place & QueueTasks.addIsAnnounced != 0, place < QueueTasks.endIsAnnounced else { return }
        // Acquires what the delegate was told when the task was added; one who is faster gives the task up.
        guard task.place.compareExchange(
            expected: place, desired: place | QueueTasks.endIsAnnounced, ordering: .acquiringAndReleasing).exchanged
        else { return }
        if let delegate = task.delegate { task.tell(delegate, of: .willFinish, in: queue) }
    }

    private func tellEnd(of task: AnyTask, in queue: TaskQueue, at place: UInt64) {
        guard place & QueueTasks.addIsAnnounced != 0, let delegate = task.delegate else { return }
        if place & QueueTasks.endIsAnnounced == 0 { task.tell(delegate, of: .willFinish, in: queue) }
        task.tell(delegate, of: .didFinish, in: queue)
    }

    private func leave(_ place: UInt64, _ task: Unmanaged<AnyTask>) {
        let mayBeEmpty = registry.remove(place)
        unsafe task.release()
        // A waiter announces itself before it looks into the registry, whose locks order the two.
        if mayBeEmpty, hasWaiters.load(ordering: .relaxed) { wakeIfEmpty() }
    }

    /// The tasks that have no outcome yet, in no particular order.
    var all: [AnyTask] {
        registry.all(of: AnyTask.self).filter { !$0.isFinished }
    }

    // MARK: - TaskRegistry

    var parkedCount: Int {
        all.count { task in
            let standing = task.standing
            guard standing.phase == .executing else { return standing.phase == .pending }
            return !standing.isInBody || task.extras?.locked { $0.bodyIsElsewhere } ?? false
        }
    }

    var isEmpty: Bool { registry.isEmpty }

    private func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        waiters.withLock {
            $0.append(body)
            hasWaiters.store(true, ordering: .relaxed)  // ordered by the registry's locks
        }
        wakeIfEmpty()
    }

    private func wakeIfEmpty() {
        let due = waiters.withLock { waiters -> [@Sendable () -> Void] in
            guard isEmpty else { return [] }
            defer { waiters = [] }
            hasWaiters.store(false, ordering: .relaxed)  // under the lock
            return waiters
        }
        for wake in due { wake() }
    }

    func waitUntilEmpty() {
        let group = WaitGroup()
        group.enter()
        whenEmpty { group.leave() }
        group.wait()
    }

    func becameEmpty() async {
        await unsafe withUnsafeContinuation { continuation in whenEmpty { unsafe continuation.resume() } }
    }

    func cancelParked() -> Int {
        all.count { task in
            let state = task.state
            task.cancel()
            return state == .pending && task.isFinished  // what is ready, the engine counts
        }
    }

    /// Whether tasks that come are timed.
    var timesTasks: Bool {
        get { isTiming.load(ordering: .relaxed) }  // relaxed, both: nothing is handed over with it
        set { isTiming.store(newValue, ordering: .relaxed) }
    }

    // MARK: - The delegate

    enum DelegateEvent { case didAdd, willFinish, didFinish, didRetry }

    var delegate: (any TaskQueueDelegate)? {
        get { delegateSlot.withLock { $0.value } }
        set {
            delegateSlot.withLock { $0.value = newValue }
            hasDelegate.store(newValue != nil, ordering: .releasing)
        }
    }

    /// The delegate, at the price of a load where there is none.
    var currentDelegate: (any TaskQueueDelegate)? {
        hasDelegate.load(ordering: .acquiring) ? delegate : nil
    }
}
