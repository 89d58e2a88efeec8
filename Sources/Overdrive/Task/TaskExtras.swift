// Owns the optional storage of a task, which few tasks need: name, observers, conditions, retries and so on. AnyTask
// and Task access it. It never changes the state word.

internal import OverdriveCore
internal import Synchronization

/// A list of elements in the order of addition. Each has a number by which it can be removed.
struct Kept<Element> {
    private(set) var entries: [(number: Int, element: Element)] = []
    private var nextNumber = 0

    var all: [Element] { entries.map(\.element) }

    mutating func add(_ element: Element) {
        entries.append((nextNumber, element))
        nextNumber += 1
    }

    /// Removes an element. Returns false if it was already removed.
    mutating func remove(_ number: Int) -> Bool {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return false }
        entries.remove(at: index)
        return true
    }
}

/// The optional storage of a task: a name, observers, conditions, retries and so on. It is allocated at the first
/// use.
final class TaskExtras: @unchecked Sendable {
    // Locks guard all state, except references that are set once and bits that are never cleared.

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
        /// The closures to call at the end of the current attempt: a progressive body's cleanup, or a release of the
        /// queue's limit.
        var cleanups: [() -> Void] = []
        /// Whether the progressive body has stored its emitter. The task then waits for events of the emitter.
        var isSpokenFor = false
        /// Whether the attempt's body continues elsewhere after its first call has returned.
        var bodyIsElsewhere = false
        /// A closure that cancels the running asynchronous body.
        var cancelBody: (() -> Void)?
        /// The number of ended attempts. A cleanup added after the end of its attempt runs at once.
        var endedAttempts = 0
        /// The delegate whose `didAdd` was called. It also receives the later calls.
        weak var delegate: (any TaskQueueDelegate)?
        /// The queue to pass to that delegate.
        weak var delegateQueue: TaskQueue?
        /// The group that blocked threads wait for.
        var completion: WaitGroup?
        /// The queue to which the program added the task, after a dependent had brought it to another queue.
        var chosenQueue: TaskQueue?
        /// The task's index in the registry of `chosenQueue`.
        var chosenPlace: UInt64?
        /// The thread that is calling observers or handlers before the task's end; 0 if there is none.
        var teller: UInt = 0
        /// The number of removed edges in the list of dependents since the last sweep, and of edges that the sweep kept.
        var removedDependents = 0, sweptDependents = 0
        /// The task's number in descriptions, assigned at the first use.
        var number: Int?
        var isTimed = false
        /// The start of the last attempt's body and the time of its outcome, if the task is timed. ``Moment`` defines
        /// the clock.
        var began, ended: Duration?
        /// Whether the task was counted in its queue's progress. It is counted only once.
        var isCounted = false
        /// The task's share of its queue's progress.
        var ticket: ProgressTicket?
    }

    /// Whether `chosenQueue` is set.
    let isMoved = Atomic(false)

    /// The part of the storage whose type depends on the result type; see ``Task/typedExtras``. It is allocated
    /// separately: looking up this type takes longer than a retry.
    let lazyTyped = LazyReference<ResultExtras>()

    /// The kinds of optional properties that every attempt reads. A bit that was never set lets readers skip the
    /// lock. See ``AnyTask/change(_:_:)`` for the reason why no change is missed.
    struct Kinds: OptionSet {
        let rawValue: UInt8

        static let observers = Kinds(rawValue: 1 << 0)
        static let delegate = Kinds(rawValue: 1 << 1)
        static let qos = Kinds(rawValue: 1 << 2)
        static let time = Kinds(rawValue: 1 << 3)
        static let ticket = Kinds(rawValue: 1 << 4)
    }
    private let kinds = Atomic<UInt8>(0)

    // Callers pass handlers over, and one thread calls them. The lock guards the fields.
    @exclusivity(unchecked) nonisolated(unsafe) private var fields = Fields()
    // The lock does not hold a Void: the thread sanitizer would take the address of a Void for the address of the
    // object.
    private let lock = Locked<UInt8>(0)

    func locked<R>(_ body: (inout Fields) throws -> R) rethrows -> R {
        try lock.withLock { _ in try unsafe body(&fields) }
    }

    /// Changes a property of a kind. Only ``AnyTask/change(_:_:)`` calls it.
    func change<R>(_ kind: Kinds, _ body: (inout Fields) -> R) -> R {
        kinds.bitwiseOr(kind.rawValue, ordering: .relaxed)  // relaxed: the lock publishes the property
        return locked(body)
    }

    /// Whether a property of the kind was ever changed, as far as this thread can know.
    @inline(__always)
    func had(_ kind: Kinds) -> Bool {
        kinds.load(ordering: .relaxed) & kind.rawValue != 0  // relaxed: the lock publishes the property
    }

    /// Removes the first element that `matches`. `matches` calls the program's code, so it runs without the lock.
    func removeFirst<E>(of list: WritableKeyPath<Fields, Kept<E>>, where matches: (E) -> Bool) -> Bool {
        for entry in locked({ $0[keyPath: list].entries }) where matches(entry.element) {
            // If another thread has removed this element, the search continues.
            if locked({ $0[keyPath: list].remove(entry.number) }) { return true }
        }
        return false
    }

    /// Removes all elements that `matches`.
    func removeAll<E>(of list: WritableKeyPath<Fields, Kept<E>>, where matches: (E) -> Bool) -> Bool {
        // Released after the lock: they may be objects of the program.
        let removed = locked { fields in
            let removed = fields[keyPath: list].entries.filter { matches($0.element) }
            for entry in removed { _ = fields[keyPath: list].remove(entry.number) }
            return removed
        }
        return !removed.isEmpty
    }
}

extension AnyTask {
    /// The task's name in messages, or its type if it has no name.
    final var title: String {
        name.map { "\"\($0)\"" } ?? "a \(type(of: self))"
    }

    /// The task's name in messages; nil if it was not set.
    public final var name: String? {
        get { extras?.locked { $0.name } }
        set { makeExtras().locked { $0.name = newValue } }
    }

    /// The task's quality of service, if it is higher than the queue's; nil if it was not set. Set it before the task
    /// is ready.
    public final var qos: TaskQueue.QoS? {
        get { ifHad(.qos) { $0.qos } }
        set { change(.qos) { $0.qos = newValue } }
    }

    /// The observers, in the order of registration.
    public final var observers: [any TaskObserver] {
        ifHad(.observers) { $0.observers.all } ?? []
    }

    /// The conditions, in the order in which they were added.
    public final var conditions: [any TaskCondition] {
        extras?.locked { $0.conditions.all } ?? []
    }

    /// Applies the arguments of an initializer, while no other thread has the task.
    @usableFromInline
    final func add(
        dependencies: [AnyTask], requiring requirement: DependencyRequirement, observers: [any TaskObserver],
        conditions: [any TaskCondition]
    ) {
        for dependency in dependencies { add(dependency: dependency, requiring: requirement) }
        for observer in observers { add(observer: observer) }
        for condition in conditions { add(condition: condition) }
    }
}
