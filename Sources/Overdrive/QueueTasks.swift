internal import OverdriveCore
internal import Synchronization

/// The unfinished tasks of one queue, and its delegate. The queue keeps its tasks by this.
///
/// Tasks are chained through ``AnyTask/registered`` in one of eight lists, each with a lock, so that threads
/// that add and threads that finish seldom meet.
final class QueueTasks: TaskKeeping {
    /// A task's neighbours, under the lock of its list.
    struct Links {
        fileprivate unowned(unsafe) var previous: AnyTask?
        fileprivate unowned(unsafe) var next: AnyTask?
        fileprivate var isIn = false
    }

    private final class List: Sendable {
        struct Content {
            unowned(unsafe) var first: AnyTask?
            unowned(unsafe) var last: AnyTask?
            var count = 0
        }

        // Only under the lock; the tasks in it are held by it.
        nonisolated(unsafe) private var content = Content()
        private let lock = Mutex<Void>(())

        func locked<R>(_ body: (inout Content) -> R) -> R {
            lock.withLock { _ in body(&content) }
        }
    }

    private static let listCount = 8
    private let lists = (0..<listCount).map { _ in List() }
    private let waiters = Mutex<[@Sendable () -> Void]>([])
    private let hasWaiters = Atomic(false)

    private struct Delegate {
        weak var value: (any TaskQueueDelegate)?
    }
    private let delegateSlot = Mutex<Delegate>(Delegate())
    private let hasDelegate = Atomic(false)

    static func of(_ queue: TaskQueue) -> QueueTasks {
        // Nobody else stores anything there. Acquires what it was made of.
        let stored = queue.taskStorage.load(ordering: .acquiring)
        return UnsafeRawPointer(bitPattern: stored).map(at) ?? make(for: queue)
    }

    private static func at(_ address: UnsafeRawPointer) -> QueueTasks {
        Unmanaged<QueueTasks>.fromOpaque(address).takeUnretainedValue()
    }

    private static func make(for queue: TaskQueue) -> QueueTasks {
        let mine = Unmanaged.passRetained(QueueTasks())
        let (stored, found) = queue.taskStorage.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !stored, let found = UnsafeRawPointer(bitPattern: found) else { return mine.takeUnretainedValue() }
        mine.release()
        return at(found)
    }

    private func list(of task: AnyTask) -> List {
        let address = UInt(bitPattern: Unmanaged.passUnretained(task).toOpaque())
        return lists[Int((address >> 7 ^ address >> 12) & UInt(QueueTasks.listCount - 1))]
    }

    // MARK: - Coming and going

    /// Keeps the task until ``unregister(_:)``. False: it is kept already, or finished.
    @discardableResult
    func register(_ task: AnyTask) -> Bool {
        list(of: task).locked { content in
            guard !task.registered.isIn, !task.isFinished else { return false }
            _ = Unmanaged.passRetained(task)
            task.registered = Links(previous: content.last, next: nil, isIn: true)
            if let last = content.last { last.registered.next = task } else { content.first = task }
            content.last = task
            content.count += 1
            return true
        }
    }

    func unregister(_ task: AnyTask) {
        let wasIn = list(of: task).locked { content in
            guard task.registered.isIn else { return false }
            let (previous, next) = (task.registered.previous, task.registered.next)
            if let previous { previous.registered.next = next } else { content.first = next }
            if let next { next.registered.previous = previous } else { content.last = previous }
            task.registered = Links()
            content.count -= 1
            return true
        }
        guard wasIn else { return }
        Unmanaged.passUnretained(task).release()
        // A waiter announces itself before it looks into the lists: their locks order the two.
        if hasWaiters.load(ordering: .relaxed) { wakeIfEmpty() }
    }

    /// The tasks that have no outcome yet, list by list.
    var all: [AnyTask] {
        lists.flatMap { list in
            list.locked { content in
                var tasks: [AnyTask] = []
                var next = content.first
                while let task = next {
                    tasks.append(task)
                    next = task.registered.next
                }
                return tasks
            }
        }
    }

    // MARK: - TaskKeeping

    var parkedCount: Int {
        all.count { task in
            let standing = task.standing
            return standing.phase == .pending || standing.phase == .executing && !standing.isInBody
        }
    }

    var isEmpty: Bool {
        lists.allSatisfy { $0.locked { $0.count == 0 } }
    }

    private func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        waiters.withLock {
            $0.append(body)
            hasWaiters.store(true, ordering: .relaxed)  // ordered by the lists' locks
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
        if let delegate = currentDelegate { task.tellDelegate(.didAdd, delegate, queue) }
    }
}
