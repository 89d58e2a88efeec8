internal import OverdriveCore
internal import Synchronization

/// The unfinished tasks of one queue, and its delegate. The queue keeps its tasks by this.
final class QueueTasks: TaskKeeping {
    private let roster = Roster()
    private let waiters = Locked<[@Sendable () -> Void]>([])
    private let hasWaiters = Atomic(false)

    private struct Delegate {
        weak var value: (any TaskQueueDelegate)?
    }
    private let delegateSlot = Locked<Delegate>(Delegate())
    private let hasDelegate = Atomic(false)

    /// The queue's, for as long as `body` takes: without a count of references that all threads would change.
    @inline(__always)
    static func with<R>(_ queue: TaskQueue, _ body: (QueueTasks) -> R) -> R {
        // Nobody else stores anything there. Acquires what it was made of.
        let stored = queue.taskStorage.load(ordering: .acquiring)
        return (UnsafeRawPointer(bitPattern: stored).map(at) ?? make(for: queue))._withUnsafeGuaranteedRef(body)
    }

    static func of(_ queue: TaskQueue) -> QueueTasks {
        with(queue) { $0 }
    }

    private static func at(_ address: UnsafeRawPointer) -> Unmanaged<QueueTasks> {
        Unmanaged<QueueTasks>.fromOpaque(address)
    }

    private static func make(for queue: TaskQueue) -> Unmanaged<QueueTasks> {
        let mine = Unmanaged.passRetained(QueueTasks())
        let (stored, found) = queue.taskStorage.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = UnsafeRawPointer(bitPattern: found) else { return mine }
        mine.release()
        return at(found)
    }

    // MARK: - Coming and going

    /// What a task has in place of its place when it has none any more.
    private static let gone = UInt64.max

    /// Keeps the task until ``unregister(_:)``. False: it is kept already, or was.
    @discardableResult
    func register(_ task: AnyTask) -> Bool {
        guard task.place.load(ordering: .relaxed) == 0 else { return false }  // relaxed: the exchange below decides
        let kept = Unmanaged.passRetained(task)
        let place = roster.add(kept.toOpaque())
        // Releases the place to whoever takes it from the task.
        if task.place.compareExchange(expected: 0, desired: place, ordering: .releasing).exchanged { return true }
        leave(place, kept)  // another thread was faster, or the task is over
        return false
    }

    func unregister(_ task: AnyTask) {
        // Acquires the place. Whoever takes it gives it up.
        let place = task.place.exchange(QueueTasks.gone, ordering: .acquiring)
        if place != 0, place != QueueTasks.gone { leave(place, Unmanaged.passUnretained(task)) }
    }

    private func leave(_ place: UInt64, _ task: Unmanaged<AnyTask>) {
        let mayBeEmpty = roster.remove(place)
        task.release()
        // A waiter announces itself before it looks into the roster, whose locks order the two.
        if mayBeEmpty, hasWaiters.load(ordering: .relaxed) { wakeIfEmpty() }
    }

    /// The tasks that have no outcome yet, in no particular order.
    var all: [AnyTask] {
        roster.all(of: AnyTask.self).filter { !$0.isFinished }
    }

    // MARK: - TaskKeeping

    var parkedCount: Int {
        all.count { task in
            let standing = task.standing
            return standing.phase == .pending || standing.phase == .executing && !standing.isInBody
        }
    }

    var isEmpty: Bool { roster.isEmpty }

    private func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        waiters.withLock {
            $0.append(body)
            hasWaiters.store(true, ordering: .relaxed)  // ordered by the roster's locks
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
        await withUnsafeContinuation { continuation in whenEmpty { continuation.resume() } }
    }

    func cancelParked() -> Int {
        all.count { task in
            let state = task.state
            if state < .executing { task.cancel() }
            return state == .pending && task.isFinished  // what is ready, the engine counts
        }
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

    func tellAdded(_ task: AnyTask, to queue: TaskQueue) {
        if let delegate = currentDelegate { task.tell(delegate, of: .didAdd, in: queue) }
    }
}
