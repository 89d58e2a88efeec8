// Owns the edges between a dependency and its dependents, and the dependent's list of them. AnyTask+Dependencies
// creates, links and fires them. An edge never runs a body.

internal import OverdriveCore
internal import Synchronization

/// The fact that one task waits for another.
///
/// An edge is in two lists. It is in the dependent's list from ``AnyTask/add(dependency:requiring:)`` on, and in the
/// dependency's list once the dependent is on a queue. The dependent's word counts it until the edge is done: fired
/// by the end of the dependency, or removed. The thread that changes `state` to done decrements that count.
///
/// Each list holds one reference to the edge. The thread that links the edge passes its reference to the dependency's
/// list.
///
/// Each field belongs to one thread at a time. The lock of the dependent's list guards `nextDependency`. `dependent`
/// belongs to the linking thread, and then to the thread that makes the edge done. `nextDependent` belongs to the
/// linking thread, and then to the dependency's list. The thread that has taken the dependency's list sets `watched`
/// and clears `dependency`, in state `linking` and under the lock of the dependent's list. Otherwise `dependency` is
/// cleared after the edge has left the dependent's list, or with the dependent's deinitialisation.
@safe final class Edge: Bounced, @unchecked Sendable {
    private enum State: UInt8 {
        case idle, linking, linked, done
    }

    // The references are managed by hand, because the deinitialisation of strong fields would retain the edge.
    private var dependency: Unmanaged<AnyTask>?
    /// Replaces `dependency` if the dependents do not retain it.
    private var watched: Unmanaged<WatchedTask>?
    fileprivate(set) var nextDependency: Unmanaged<Edge>?
    var nextDependent: Unmanaged<Edge>?
    /// The dependent, retained from the linking until the edge is done.
    private var dependent: Unmanaged<AnyTask>?
    // A number, because an atomic enumeration would retain the object in each deinitialisation.
    private let state = Atomic(State.idle.rawValue)
    private let requirement: AnyTask.DependencyRequirement
    private var isLinked = false

    init(to dependency: AnyTask, requiring requirement: AnyTask.DependencyRequirement) {
        unsafe self.dependency = .passRetained(dependency)
        self.requirement = requirement
    }

    deinit {
        unsafe dependency?.release()
        unsafe watched?.release()
        unsafe dependent?.release()
    }

    /// The dependency; nil if it was not retained and is gone.
    var task: AnyTask? {
        unsafe dependency?.takeUnretainedValue() ?? watched?.takeUnretainedValue().task
    }

    /// Moves the dependency out of the edge, which no thread uses afterwards.
    func takeDependency() -> AnyTask? { unsafe dependency.take()?.takeRetainedValue() }

    /// Begins the linking of the edge into the dependency's list. The linking thread holds a reference. Returns false
    /// if a thread has done this before.
    ///
    /// The caller holds the lock of the dependent's list, which contains the edge. No other thread therefore changes
    /// an idle edge.
    func beginLinking(for dependent: AnyTask) -> Bool {
        // relaxed: both accesses are under the lock
        guard state.load(ordering: .relaxed) == State.idle.rawValue else { return false }
        state.store(State.linking.rawValue, ordering: .relaxed)
        unsafe self.dependent = .passRetained(dependent)
        return true
    }

    /// Ends the dependent's wait for the dependency. Returns false if the dependency was faster and has decremented
    /// the count.
    func remove() -> Bool {
        // Most edges have fired when their dependent is released. Acquires the writes of the thread that made the
        // edge done.
        if state.load(ordering: .acquiring) == State.done.rawValue { return false }
        if change(.idle, to: .done) || change(.linking, to: .done) { return true }
        guard change(.linked, to: .done) else { return false }
        unsafe dependent.take()?.release()
        // The dependency's list retains the edge until a sweep, so this reference would form a cycle.
        let task = unsafe dependency.take()?.takeRetainedValue() ?? watched?.takeUnretainedValue().task
        task?.noteRemovedDependent()
        return true
    }

    /// Whether the edge is over for both ends. The caller has taken the dependency's list.
    var isDone: Bool { state.load(ordering: .acquiring) == State.done.rawValue }

    override func go() {
        if isLinked { fire() } else { finishLinking() }
    }

    /// Links an edge that only requires the end of a task on a queue. This calls no code of the program, so it needs
    /// no line of the thread's trampoline. Returns false if the edge was not linked.
    func linkAtOnce() -> Bool {
        guard requirement == .finish, let dependency = unsafe dependency,
            unsafe dependency._withUnsafeGuaranteedRef({ $0.isOnQueue })
        else { return false }
        finishLinking()
        return true
    }

    private func finishLinking() {
        // Retained: another thread may remove the edge and release the dependency at any time.
        guard let dependency = unsafe dependency?.takeUnretainedValue() else { return }
        if !dependency.isOnQueue { unsafe dependent?._withUnsafeGuaranteedRef { $0.bring(dependency) } }
        isLinked = true
        guard change(.linking, to: .linked) else {
            unsafe dependent.take()?.release()  // The edge was removed during the linking.
            letGo()
            return
        }
        // From here on another thread may hold and release the last reference to the edge.
        guard dependency.attach(self) else {
            fire()
            letGo()
            return
        }
        // The dependency's body may have returned before the edge was in the list.
        if !dependency.isOnQueue { dependency.stopBeingKept() }
    }

    /// Makes the dependent stop retaining the dependency, whose list the caller has taken. Returns false if the edge
    /// was removed and must not return to the list.
    func stopKeeping(_ task: AnyTask) -> Bool {
        if unsafe watched != nil { return true }
        // As during the linking, a thread that removes the edge now leaves the rest to this thread.
        guard change(.linked, to: .linking) else { return false }
        unsafe dependent?._withUnsafeGuaranteedRef { dependent in
            dependent.edges.withLock { _ in
                unsafe watched = .passRetained(WatchedTask(task))
                unsafe dependency.take()?.release()  // Not the last reference: the caller has one.
            }
        }
        if change(.linking, to: .linked) { return true }
        unsafe dependent.take()?.release()
        return false
    }

    /// Releases the linking thread's reference.
    private func letGo() {
        unsafe Unmanaged.passUnretained(self).release()
    }

    /// Records that the dependency has finished. All edges of a dependency are told before any of them fires.
    func isOver(_ dependency: AnyTask) {
        unsafe watched?._withUnsafeGuaranteedRef { $0.isOver(dependency) }
    }

    /// Records that the dependency is gone without an outcome.
    func isLost(_ title: String) {
        unsafe watched?._withUnsafeGuaranteedRef { $0.isLost(title) }
    }

    /// Handles the end of the dependency: decrements the dependent's count, or fails the dependent.
    private func fire() {
        guard change(.linked, to: .done), let dependent = unsafe dependent.take() else { return }
        unsafe dependent._withUnsafeGuaranteedRef { dependent in
            if requirement == .success { require(of: dependent) }
            dependent.take(.release)
        }
        unsafe dependent.release()
    }

    private func require(of dependent: AnyTask) {
        if let task {
            if let error = task.failure { dependent.fail(DependencyError(dependency: task.title, error: error)) }
        } else {
            let title = unsafe watched?.takeUnretainedValue().title ?? ""
            dependent.fail(DependencyError(dependency: title, error: CancellationError()))
        }
    }

    private func change(_ old: State, to new: State) -> Bool {
        // Acquires the writes of the last owner, and releases those of this thread.
        state.compareExchange(
            expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing
        ).exchanged
    }
}

/// A dependency that its dependents do not retain. It was started without a queue, so only its holder can finish it.
/// Once finished it is retained, because dependents may read its result.
private final class WatchedTask: Sendable {
    private struct State {
        weak var waitedFor: AnyTask?
        var over: AnyTask?
        var title = ""
    }
    private let state: Locked<State>

    init(_ task: AnyTask) {
        state = Locked(State(waitedFor: task))
    }

    var task: AnyTask? { state.withLock { $0.over ?? $0.waitedFor } }
    var title: String { state.withLock { $0.title } }

    func isOver(_ task: AnyTask) { state.withLock { $0.over = task } }
    func isLost(_ title: String) { state.withLock { $0.title = title } }
}

/// The edges to a task's dependencies, newest first. The list owns a reference to each. The last owner of the list
/// must remove the edges.
@safe struct EdgeList: Sendable {
    private(set) var first: Unmanaged<Edge>?

    /// Adds an edge and takes over the caller's reference.
    mutating func add(_ edge: Unmanaged<Edge>) {
        unsafe edge._withUnsafeGuaranteedRef { unsafe $0.nextDependency = first }
        unsafe first = edge
    }

    /// Removes the newest edge and passes its reference to the caller.
    mutating func takeFirst() -> Unmanaged<Edge>? {
        guard let edge = unsafe first else { return nil }
        unsafe edge._withUnsafeGuaranteedRef { here in
            unsafe first = here.nextDependency
            unsafe here.nextDependency = nil
        }
        return unsafe edge
    }

    mutating func takeAll() -> EdgeList {
        defer { unsafe first = nil }
        return self
    }

    func forEach(_ body: (Edge) -> Void) {
        var next = unsafe first
        while let edge = unsafe next {
            unsafe next = edge._withUnsafeGuaranteedRef { here in
                body(here)
                return unsafe here.nextDependency
            }
        }
    }
}
