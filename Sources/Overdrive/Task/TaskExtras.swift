internal import OverdriveCore
internal import Synchronization

/// What was added, in that order, each with a number by which it is removed.
struct Kept<Element> {
    private(set) var entries: [(number: Int, element: Element)] = []
    private var nextNumber = 0

    var all: [Element] { entries.map(\.element) }

    mutating func add(_ element: Element) {
        entries.append((nextNumber, element))
        nextNumber += 1
    }

    /// False: it is there no more.
    mutating func remove(_ number: Int) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return false }
        entries.remove(at: index)
        return true
    }
}

/// What few tasks have: a name, observers, conditions, retries … Made when the first of it is needed.
final class TaskExtras: @unchecked Sendable {
    // All state is in mutexes, set once, or bits that are set and stay.

    struct Fields {
        var name: String?
        var qos: TaskQueue.QoS?
        var observers = Kept<any TaskObserver>()
        var conditions = Kept<any TaskCondition>()
        var conditionErrors: [any Error] = []
        var conditionsArePrepared = false
        var retry: RetryPolicy?
        var retriesLeft = 0
        var lastError: (any Error)?
        var cancelHandlers: [() -> Void] = []
        var cancelIsTold = false
        /// What ends the attempt that is under way: a progressive body's cleanup, a place to be given up.
        var cleanups: [() -> Void] = []
        /// Somebody kept the emitter of the attempt's progressive body: the task waits for him.
        var isSpokenFor = false
        /// The attempt's body goes on although who began it has returned.
        var bodyIsElsewhere = false
        /// What cancels an asynchronous body that is under way.
        var cancelBody: (() -> Void)?
        /// Attempts that have ended; a cleanup that comes later runs at once.
        var endedAttempts = 0
        /// Who was told that the task is added, and is told the rest.
        weak var delegate: (any TaskQueueDelegate)?
        /// The queue of which that one is told.
        weak var delegateQueue: TaskQueue?
        /// What blocked threads wait for.
        var completion: WaitGroup?
        /// Where the program added the task, after a dependent had brought it to another queue.
        var chosenQueue: TaskQueue?
        /// The task's place in the registry of that queue.
        var chosenPlace: UInt64?
        /// The thread that calls the program's code before the task's end; 0: none does.
        var teller: UInt = 0
        /// The edges in the list of dependents that were removed since the last sweep, and those that the sweep kept.
        var removedDependents = 0, sweptDependents = 0
        /// Its number, from the first look on.
        var number: Int?
        var isTimed = false
        /// When the last attempt's body began, if it is timed, and when it had its outcome; by ``Moment``.
        var began, ended: Duration?
        /// It was counted, once and for all.
        var isCounted = false
        /// What the task counts as in its queue's progress.
        var ticket: ProgressTicket?
    }

    /// Whether there is such a queue.
    let isMoved = Atomic(false)

    /// What is made of the type of the result, by those who know it; see ``Task/typedExtras``. Most extras have none: to
    /// find such types takes longer than all that a retry does.
    let lazyTyped = LazyReference<ResultExtras>()

    /// What some tasks have and is asked for in every attempt: who asks for what was never there takes no lock. That this is not
    /// missed rests on who changes it: see ``AnyTask/change(_:_:)``.
    struct Kinds: OptionSet {
        let rawValue: UInt8

        static let observers = Kinds(rawValue: 1 << 0)
        static let delegate = Kinds(rawValue: 1 << 1)
        static let qos = Kinds(rawValue: 1 << 2)
        static let time = Kinds(rawValue: 1 << 3)
        static let ticket = Kinds(rawValue: 1 << 4)
    }
    private let kinds = Atomic<UInt8>(0)

    // Handlers are handed over by their callers, and called by one thread. The lock excludes, and nobody else need look.
    @exclusivity(unchecked) nonisolated(unsafe) private var fields = Fields()
    // Not of Void, whose address the thread sanitizer takes for the object's own.
    private let lock = Locked<UInt8>(0)

    func locked<R>(_ body: (inout Fields) throws -> R) rethrows -> R {
        try lock.withLock { _ in try unsafe body(&fields) }
    }

    /// Changes what is of a kind. For ``AnyTask/change(_:_:)`` alone.
    func change<R>(_ kind: Kinds, _ body: (inout Fields) -> R) -> R {
        kinds.bitwiseOr(kind.rawValue, ordering: .relaxed)  // relaxed: the lock hands over what there is
        return locked(body)
    }

    /// Whether something of the kind was ever changed, as far as this thread can know.
    @inline(__always)
    func had(_ kind: Kinds) -> Bool {
        kinds.load(ordering: .relaxed) & kind.rawValue != 0  // relaxed: the lock hands over what there is
    }

    /// Removes the first that `matches`, which is the program's code and is called without the lock.
    func removeFirst<E>(of list: WritableKeyPath<Fields, Kept<E>>, where matches: (E) -> Bool) -> Bool {
        for entry in locked({ $0[keyPath: list].entries }) where matches(entry.element) {
            // Another thread may have been faster with this one: then the next is as good.
            if locked({ $0[keyPath: list].remove(entry.number) }) { return true }
        }
        return false
    }

    /// Removes all of a type.
    func removeAll<E>(of list: WritableKeyPath<Fields, Kept<E>>, where matches: (E) -> Bool) -> Bool {
        // Let go of without the lock: they may be the program's objects.
        let removed = locked { fields in
            let removed = fields[keyPath: list].entries.filter { matches($0.element) }
            for entry in removed { _ = fields[keyPath: list].remove(entry.number) }
            return removed
        }
        return !removed.isEmpty
    }
}

extension AnyTask {
    /// What messages call it: its name, or else its type.
    final var title: String {
        name.map { "\"\($0)\"" } ?? "a \(type(of: self))"
    }

    /// The task's name in messages; nil unless it was set.
    public final var name: String? {
        get { extras?.locked { $0.name } }
        set { makeExtras().locked { $0.name = newValue } }
    }

    /// How much the task matters, above its queue's own quality of service; nil unless it was set, which counts
    /// before the task is ready.
    public final var qos: TaskQueue.QoS? {
        get { ifHad(.qos) { $0.qos } }
        set { change(.qos) { $0.qos = newValue } }
    }

    /// The observers, in the order in which they were added.
    public final var observers: [any TaskObserver] {
        ifHad(.observers) { $0.observers.all } ?? []
    }

    /// The conditions, in the order in which they were added.
    public final var conditions: [any TaskCondition] {
        extras?.locked { $0.conditions.all } ?? []
    }

    /// What the initializers are given. Nobody else has the task yet.
    @usableFromInline
    final func add(
        dependencies: [AnyTask], observers: [any TaskObserver], conditions: [any TaskCondition]
    ) {
        for dependency in dependencies { add(dependency: dependency) }
        for observer in observers { add(observer: observer) }
        for condition in conditions { add(condition: condition) }
    }
}
