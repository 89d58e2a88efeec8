internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension TaskQueue {
    /// Where tasks go on by themselves: not on everybody's queues, whose closures anybody may take back.
    static let inner = TaskQueue()
}

/// The unfinished tasks of one queue, and its delegate. The queue keeps its tasks by this.
///
/// A forked child makes its own: what is in the parent's is the parent's to run, and a thread that is not there any more may
/// have been changing it. So nobody asks one of these but by ``with(_:_:)``.
final class QueueTasks: TaskRegistry {
    private let registry = Registry()
    private let waiters = Locked<[@Sendable () -> Void]>([])
    private let hasWaiters = Atomic(false)

    private final class Listener: Sendable {
        weak let delegate: (any TaskQueueDelegate)?
        /// The queue as the delegate knows it.
        weak let queue: TaskQueue?
        init(_ delegate: any TaskQueueDelegate, of queue: TaskQueue) { (self.delegate, self.queue) = (delegate, queue) }
    }
    private let current: Locked<Listener?>
    /// The same as an address, or 0: for a look without the lock, and for a forked child, which could find the lock held. It
    /// is stored before the one that it replaces is released.
    private let listener: Atomic<UInt>
    private let isTiming: Atomic<Bool>

    /// How many forks lie between the program's start and the process that has made this.
    private let generation: UInt64
    private static let forks = Atomic<UInt64>(0)
    private static let isCounting = pthread_atfork(nil, nil, { QueueTasks.forks.add(1, ordering: .relaxed) }) == 0

    /// - Parameter parent: What the parent knew of the queue.
    private init(like parent: QueueTasks?) {
        _ = QueueTasks.isCounting
        generation = QueueTasks.forks.load(ordering: .relaxed)
        let address = parent?.listener.load(ordering: .acquiring) ?? 0
        listener = Atomic(address)
        current = unsafe Locked(
            UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged<Listener>.fromOpaque($0).takeUnretainedValue() })
        isTiming = Atomic(parent?.timesTasks ?? false)
    }

    /// The queue's, by its task side, for as long as `body` takes: without a count of references that all threads would change.
    @inline(__always)
    static func with<R>(_ queue: TaskQueue, _ body: (QueueTasks) -> R) -> R {
        // Nobody else stores anything there. Acquires what it was made of.
        let stored = queue.taskStorage.load(ordering: .acquiring)
        var tasks = unsafe UnsafeRawPointer(bitPattern: stored).map(at) ?? make(for: queue, inPlaceOf: 0)
        // relaxed: a process's number never changes while it has threads
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

    /// - Parameter old: The parent's, which stays as it is; 0: there is none.
    private static func make(for queue: TaskQueue, inPlaceOf old: UInt) -> Unmanaged<QueueTasks> {
        let parent = unsafe UnsafeRawPointer(bitPattern: old).map { unsafe at($0).takeUnretainedValue() }
        let mine = unsafe Unmanaged.passRetained(QueueTasks(like: parent))
        let (stored, found) = unsafe queue.taskStorage.compareExchange(
            expected: old, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
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
    /// From here up to those stands whose registry's it is.
    private static let generationShift: UInt64 = 40
    private static let generations = (UInt64(1) << 21 - 1) << generationShift
    private var generationBits: UInt64 { generation << QueueTasks.generationShift & QueueTasks.generations }

    /// Keeps the task until ``unregister(_:from:)``, and tells the delegate, unless it is kept already, or was.
    func register(_ task: AnyTask, in queue: TaskQueue) {
        // relaxed: the exchanges below decide
        guard task.place.load(ordering: .relaxed) == 0 else { return }
        watch(task, in: queue)
        let listener = currentListener
        let delegate = listener?.delegate
        if delegate != nil {
            // relaxed: nothing is handed over with it
            guard task.place.compareExchange(expected: 0, desired: QueueTasks.announcing, ordering: .relaxed).exchanged
            else { return }
            let delegateQueue = listener?.queue
            task.change(.delegate) { ($0.delegate, $0.delegateQueue) = (delegate, delegateQueue) }
        }
        let kept = unsafe Unmanaged.passRetained(task)
        let place = unsafe registry.add(kept.toOpaque()) | generationBits
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

    /// Keeps a task that another queue keeps as well, because a dependent had brought it there, until ``leaveMoved(_:at:)``.
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

    /// The place was taken from the task, which is over.
    func leaveMoved(_ task: AnyTask, at place: UInt64) {
        unsafe leave(place, Unmanaged.passUnretained(task))
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
        guard place & QueueTasks.generations == generationBits else { return }  // the parent's, which keeps it
        let mayBeEmpty = registry.remove(place & ~QueueTasks.generations)
        unsafe task.release()
        // A waiter announces itself before it looks into the registry, whose locks order the two.
        if mayBeEmpty, hasWaiters.load(ordering: .relaxed) { wakeIfEmpty() }
    }

    /// The tasks that have no outcome yet, in no particular order.
    var all: [AnyTask] {
        registry.all(of: AnyTask.self).filter { !$0.isFinished }
    }

    // MARK: - TaskRegistry

    func ofThisProcess(for queue: TaskQueue) -> any TaskRegistry { QueueTasks.of(queue) }

    var parkedCount: Int {
        all.count { task in
            if task.hasMoved(from: self) { return false }
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
            if task.hasMoved(from: self) { return false }
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

    /// At the price of a load where there is none.
    private var currentListener: Listener? {
        // relaxed: the lock orders what there is
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
        withExtendedLifetime(old) {}  // given up without the lock
    }
}
