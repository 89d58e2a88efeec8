// Owns the list of unfinished tasks of each queue, and the queue's delegate. Tasks register and unregister
// themselves; the queue asks for counts and waits. It never runs a task.

internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension TaskQueue {
    /// The queue for internal continuations of tasks. A program cannot discard its closures, as `cancelAll()` does on
    /// the program's queues.
    static let inner = TaskQueue()
}

/// The unfinished tasks of one queue, which it retains, and the queue's delegate.
///
/// A forked child process creates a new object: only the parent runs the parent's tasks, and a vanished thread may
/// have been changing its list. All access goes through ``with(_:_:)``, which makes this check.
final class QueueTasks: TaskRegistry {
    private let registry = Registry()
    private let waiters = Locked<[@Sendable () -> Void]>([])
    private let hasWaiters = Atomic(false)

    private final class Listener: Sendable {
        weak let delegate: (any TaskQueueDelegate)?
        /// The queue that the delegate receives as an argument.
        weak let queue: TaskQueue?
        init(_ delegate: any TaskQueueDelegate, of queue: TaskQueue) { (self.delegate, self.queue) = (delegate, queue) }
    }
    private let current: Locked<Listener?>
    /// The address of `current`'s object, or 0, for reads without the lock. A forked child may find that lock held.
    /// The address is stored before the old object is released.
    private let listener: Atomic<UInt>
    private let isTiming: Atomic<Bool>

    /// The number of forks between the program's start and the process that created this object.
    private let generation: UInt64
    private static let forks = Atomic<UInt64>(0)
    /// The address of the engine's queue, for dumps.
    private let engineQueue: UInt
    private static let isCounting = pthread_atfork(nil, nil, { QueueTasks.forks.add(1, ordering: .relaxed) }) == 0

    /// - Parameter parent: The object of the parent process, whose settings are copied.
    private init(like parent: QueueTasks?, of queue: TaskQueue) {
        engineQueue = queue.engineQueue
        _ = QueueTasks.isCounting
        generation = QueueTasks.forks.load(ordering: .relaxed)
        let address = parent?.listener.load(ordering: .acquiring) ?? 0
        listener = Atomic(address)
        current = unsafe Locked(
            UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged<Listener>.fromOpaque($0).takeUnretainedValue() })
        isTiming = Atomic(parent?.timesTasks ?? false)
    }

    deinit { TaskQueue.forgetRegistry(of: engineQueue) }

    /// Calls `body` with the tasks of a queue. It does not change a reference count, which all threads would contend
    /// for.
    @inline(__always)
    static func with<R>(_ queue: TaskQueue, _ body: (QueueTasks) -> R) -> R {
        // Acquires the object's initialisation. No other code stores anything there.
        let stored = queue.taskStorage.load(ordering: .acquiring)
        var tasks = unsafe UnsafeRawPointer(bitPattern: stored).map(at) ?? make(for: queue, inPlaceOf: 0)
        // relaxed: a process's number does not change while other threads exist
        if unsafe tasks._withUnsafeGuaranteedRef({ $0.generation != forks.load(ordering: .relaxed) }) {
            unsafe tasks = make(for: queue, inPlaceOf: stored)
        }
        return unsafe tasks._withUnsafeGuaranteedRef(body)
    }

    static func of(_ queue: TaskQueue) -> QueueTasks {
        queue.withTaskSide { with($0) { $0 } }
    }

    private static func at(_ address: UnsafeRawPointer) -> Unmanaged<QueueTasks> {
        unsafe Unmanaged<QueueTasks>.fromOpaque(address)
    }

    /// - Parameter old: The address of the parent process's object, which is left unchanged; 0 if there is none.
    private static func make(for queue: TaskQueue, inPlaceOf old: UInt) -> Unmanaged<QueueTasks> {
        let parent = unsafe UnsafeRawPointer(bitPattern: old).map { unsafe at($0).takeUnretainedValue() }
        let mine = unsafe Unmanaged.passRetained(QueueTasks(like: parent, of: queue))
        let (stored, found) = unsafe queue.taskStorage.compareExchange(
            expected: old, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe UnsafeRawPointer(bitPattern: found) else {
            unsafe mine._withUnsafeGuaranteedRef { TaskQueue.note($0, of: $0.engineQueue) }
            return unsafe mine
        }
        unsafe mine.release()
        return unsafe at(found)
    }

    // MARK: - Coming and going

    // A task's `place` is 0 until the task is registered. Then it is the index in the registry, combined with two
    // flags and the number of forks:

    /// A thread is calling `didAdd`; this thread stores the place afterwards.
    private static let announcing = UInt64.max - 1
    /// The task has left the list, or must not enter it.
    private static let gone = UInt64.max
    /// Flag: the delegate's `willFinish` was called.
    private static let endIsAnnounced = UInt64(1) << 62
    /// Flag: the delegate's `didAdd` was called. Only that delegate receives the later calls for the task.
    private static let addIsAnnounced = UInt64(1) << 61
    /// The bits from here up to the flags hold the number of forks of the registry's process.
    private static let generationShift: UInt64 = 40
    private static let generations = (UInt64(1) << 21 - 1) << generationShift
    private var generationBits: UInt64 { generation << QueueTasks.generationShift & QueueTasks.generations }

    /// Retains the task until ``unregister(_:from:)`` and calls the delegate. Has no effect if the task is or was
    /// registered.
    func register(_ task: AnyTask, in queue: TaskQueue) {
        // relaxed: the exchanges below decide
        guard task.place.load(ordering: .relaxed) == 0 else { return }
        watch(task, in: queue)
        // relaxed: the lock orders the object's contents
        if listener.load(ordering: .relaxed) != 0, let listener = currentListener, let delegate = listener.delegate {
            return register(task, in: queue, telling: delegate, of: listener.queue)
        }
        let kept = unsafe Unmanaged.passRetained(task)
        let place = unsafe registry.add(kept.toOpaque()) | generationBits
        // Releases the place to the thread that takes it from the task.
        if task.place.compareExchange(expected: 0, desired: place, ordering: .acquiringAndReleasing).exchanged { return }
        unsafe leave(place, kept)  // Another thread registered the task first, or the task has finished.
    }

    @inline(never)
    private func register(
        _ task: AnyTask, in queue: TaskQueue, telling delegate: any TaskQueueDelegate, of delegateQueue: TaskQueue?
    ) {
        // relaxed: the exchange passes no data
        guard task.place.compareExchange(expected: 0, desired: QueueTasks.announcing, ordering: .relaxed).exchanged
        else { return }
        task.change(.delegate) { ($0.delegate, $0.delegateQueue) = (delegate, delegateQueue) }
        let kept = unsafe Unmanaged.passRetained(task)
        let place = unsafe registry.add(kept.toOpaque()) | generationBits
        task.tell(delegate, of: .didAdd, in: queue)
        // Releases the place to the thread that takes it from the task.
        let isKept = task.place.compareExchange(
            expected: QueueTasks.announcing, desired: place | QueueTasks.addIsAnnounced, ordering: .acquiringAndReleasing
        ).exchanged
        if isKept { return }
        // The task finished during the delegate's call.
        tellEnd(of: task, in: queue, at: place | QueueTasks.addIsAnnounced)
        unsafe leave(place, kept)
    }

    /// Retains a task until ``leaveMoved(_:at:)``, although another queue also retains it. The program added the task
    /// here after a dependent had brought it to the other queue.
    func keepMoved(_ task: AnyTask, in queue: TaskQueue) {
        watch(task, in: queue)
        let kept = unsafe Unmanaged.passRetained(task)
        let place = unsafe registry.add(kept.toOpaque()) | generationBits
        let isSecond = task.makeExtras().locked { fields in
            if fields.chosenPlace != nil { return true }
            fields.chosenPlace = place
            return false
        }
        if isSecond { unsafe leave(place, kept) }
    }

    /// Releases a finished task that ``keepMoved(_:in:)`` retained.
    func leaveMoved(_ task: AnyTask, at place: UInt64) {
        unsafe leave(place, Unmanaged.passUnretained(task))
    }

    /// Starts timing and counting the task, if the queue does so.
    func watch(_ task: AnyTask, in queue: TaskQueue) {
        if timesTasks { task.isTimed = true }
        task.countInProgress(of: queue)
    }

    /// Releases a finished task. The thread that takes the task's place calls the delegate.
    func unregister(_ task: AnyTask, from queue: TaskQueue) {
        task.endProgress()
        // Acquires the place.
        let place = task.place.exchange(QueueTasks.gone, ordering: .acquiring)
        guard place != 0, place != QueueTasks.announcing, place != QueueTasks.gone else { return }
        if place & QueueTasks.addIsAnnounced != 0 { tellEnd(of: task, in: queue, at: place) }
        unsafe leave(place & ~(QueueTasks.endIsAnnounced | QueueTasks.addIsAnnounced), Unmanaged.passUnretained(task))
    }

    /// Whether `didAdd` of a delegate was called, or is being called.
    @inline(__always)
    static func mayAnnounceEnd(of task: AnyTask) -> Bool {
        task.place.load(ordering: .relaxed) & addIsAnnounced != 0  // relaxed: `announceEnd` decides
    }

    /// Calls the delegate's `willFinish`, before the outcome is published.
    func announceEnd(of task: AnyTask, in queue: TaskQueue) {
        let place = task.place.load(ordering: .relaxed)  // relaxed: the exchange below decides
        guard place & QueueTasks.addIsAnnounced != 0, place < QueueTasks.endIsAnnounced else { return }
        // Acquires the effects of `didAdd`. If another thread changed the place first, that thread makes the calls.
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
        // the parent process's task, which that process releases
        guard place & QueueTasks.generations == generationBits else { return }
        let mayBeEmpty = registry.remove(place & ~QueueTasks.generations)
        unsafe task.release()
        // relaxed: a waiter sets the flag before it reads the registry, and the registry's locks order the two
        // accesses.
        if mayBeEmpty, hasWaiters.load(ordering: .relaxed) { wakeIfEmpty() }
    }

    /// The tasks without an outcome, in no particular order.
    var all: [AnyTask] {
        registry.all(of: AnyTask.self).filter { !$0.isFinished }
    }

    // MARK: - TaskRegistry

    func ofThisProcess(for queue: TaskQueue) -> any TaskRegistry { QueueTasks.of(queue) }

    var parked: ParkedTasks {
        var parked = ParkedTasks()
        for task in all where !task.hasMoved(from: self) {
            let standing = task.standing
            if standing.phase == .pending {
                parked.waiting += 1
            } else if standing.phase == .executing {
                if task.extras?.locked({ $0.bodyIsElsewhere }) ?? false {
                    parked.elsewhere += 1
                } else if !standing.isInBody {
                    parked.unfinished += 1
                }
            }
        }
        return parked
    }

    var isEmpty: Bool { registry.isEmpty }

    private func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        waiters.withLock {
            $0.append(body)
            hasWaiters.store(true, ordering: .relaxed)  // relaxed: the registry's locks order it
        }
        wakeIfEmpty()
    }

    private func wakeIfEmpty() {
        let due = waiters.withLock { waiters -> [@Sendable () -> Void] in
            guard isEmpty else { return [] }
            defer { waiters = [] }
            hasWaiters.store(false, ordering: .relaxed)  // relaxed: under the lock
            return waiters
        }
        for wake in due { wake() }
    }

    func waitUntilEmpty() {
        let group = WaitGroup()
        group.enter()
        whenEmpty { group.leave() }
        _ = group.wait(overriding: nil, nil, as: "for the tasks of a queue")
    }

    func becameEmpty() async {
        await unsafe withUnsafeContinuation { continuation in whenEmpty { unsafe continuation.resume() } }
    }

    func cancelParked() -> Int {
        all.count { task in
            if task.hasMoved(from: self) { return false }
            let state = task.state
            task.cancel()
            return state == .pending && task.isFinished  // the engine counts ready tasks
        }
    }

    /// Whether tasks added from now on are timed.
    var timesTasks: Bool {
        get { isTiming.load(ordering: .relaxed) }  // relaxed, both: the flag passes no data
        set { isTiming.store(newValue, ordering: .relaxed) }
    }

    // MARK: - The delegate

    enum DelegateEvent { case didAdd, willFinish, didFinish, didRetry }

    /// The delegate's entry. Costs one load if there is no delegate.
    private var currentListener: Listener? {
        // relaxed: the lock orders the object's contents
        listener.load(ordering: .relaxed) == 0 ? nil : current.withLock { $0 }
    }

    var delegate: (any TaskQueueDelegate)? { currentListener?.delegate }

    func setDelegate(_ delegate: (any TaskQueueDelegate)?, of queue: TaskQueue) {
        let new = delegate.map { Listener($0, of: queue) }
        let old = current.withLock { current in
            listener.store(new.map { unsafe UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0, ordering: .releasing)
            defer { current = new }
            return current
        }
        withExtendedLifetime(old) {}  // Released after the lock.
    }
}
