internal import OverdriveCore
internal import Synchronization

/// That one task waits for another.
///
/// It stands in two lists: the dependent's, from ``AnyTask/add(dependency:requiring:)`` on, and the
/// dependency's, from the moment the dependent is on a queue. Each is counted in the dependent's word until
/// it is done: fired by the dependency's end, or removed. Whoever changes `state` to done counts down.
///
/// Each list holds it once, without Swift's own counting on the way: the dependency's takes over what whoever links
/// the edge has held.
///
/// Shared by threads, each part by one at a time: `nextDependency` belongs to the dependent's list and its
/// lock, `dependent` to whoever links the edge and then to whoever makes it done, `nextDependent` to whoever links the
/// edge and then to the dependency's list. `watched` is set by whoever has taken the dependency's list, and `dependency`
/// emptied, under the lock of the dependent's list, while the state says linking; else `dependency` is emptied when the
/// edge was taken out of the dependent's list, or when the dependent is deinitialised.
@safe final class Edge: Bounced, @unchecked Sendable {
    private enum State: UInt8 {
        case idle, linking, linked, done
    }

    // What the edge holds, it holds by hand: the deinit of fields that are counted would count the edge itself.
    private var dependency: Unmanaged<AnyTask>?
    /// In place of `dependency`, where dependents do not keep it.
    private var watched: Unmanaged<WatchedTask>?
    fileprivate(set) var nextDependency: Unmanaged<Edge>?
    var nextDependent: Unmanaged<Edge>?
    /// Set from the linking until the edge is done: the dependent stays that long.
    private var dependent: Unmanaged<AnyTask>?
    // A number: of an atomic enumeration every deinit would look at the value, and count the object to do so.
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

    /// What is waited for; nil where nobody held it, and it went.
    var task: AnyTask? {
        unsafe dependency?.takeUnretainedValue() ?? watched?.takeUnretainedValue().task
    }

    /// What is waited for, taken from the edge, which nobody uses any more.
    func takeDependency() -> AnyTask? { unsafe dependency.take()?.takeRetainedValue() }

    /// The edge is about to be linked into the dependency's list; whoever links it holds it. False: somebody did.
    ///
    /// The caller has the lock of the dependent's list, and the edge is in it: so nobody else changes an idle edge.
    func beginLinking(for dependent: AnyTask) -> Bool {
        // relaxed: both are under the lock
        guard state.load(ordering: .relaxed) == State.idle.rawValue else { return false }
        state.store(State.linking.rawValue, ordering: .relaxed)
        unsafe self.dependent = .passRetained(dependent)
        return true
    }

    /// The dependent waits no longer, and the edge is in its list no more. False: the dependency was faster, and has
    /// counted down.
    func remove() -> Bool {
        // Most have fired when their dependent goes. Acquires what whoever made it done has left.
        if state.load(ordering: .acquiring) == State.done.rawValue { return false }
        if change(.idle, to: .done) || change(.linking, to: .done) { return true }
        guard change(.linked, to: .done) else { return false }
        unsafe dependent.take()?.release()
        // The dependency's list holds the edge until a sweep: the two would keep each other.
        let task = unsafe dependency.take()?.takeRetainedValue() ?? watched?.takeUnretainedValue().task
        task?.noteRemovedDependent()
        return true
    }

    /// Whether the edge is over for both ends. The caller has taken the dependency's list.
    var isDone: Bool { state.load(ordering: .acquiring) == State.done.rawValue }

    override func go() {
        if isLinked { fire() } else { finishLinking() }
    }

    /// Links an edge to a task on a queue, if the edge asks only for the end. Such a link calls no code of the program's: no task
    /// is brought along or fails, and the dependent waits for the end of the linking. So it needs no line. False: it was not linked.
    func linkAtOnce() -> Bool {
        guard requirement == .finish, let dependency = unsafe dependency,
            unsafe dependency._withUnsafeGuaranteedRef({ $0.isOnQueue })
        else { return false }
        finishLinking()
        return true
    }

    private func finishLinking() {
        // Counted: it may be removed, and let go of, at any moment.
        guard let dependency = unsafe dependency?.takeUnretainedValue() else { return }
        if !dependency.isOnQueue { unsafe dependent?._withUnsafeGuaranteedRef { $0.bring(dependency) } }
        isLinked = true
        guard change(.linking, to: .linked) else {
            unsafe dependent.take()?.release()  // it was removed meanwhile
            letGo()
            return
        }
        // From here on another thread may have the last of the edge, and let go of it.
        guard dependency.attach(self) else {
            fire()
            letGo()
            return
        }
        // Its body may have returned before the edge was there to be found.
        if !dependency.isOnQueue { dependency.stopBeingKept() }
    }

    /// The dependent keeps the dependency no longer, whose list the caller has taken. False: the edge was removed, and
    /// belongs into the list no more.
    func stopKeeping(_ task: AnyTask) -> Bool {
        if unsafe watched != nil { return true }
        // As while it is linked: who removes it meanwhile leaves the rest to this thread.
        guard change(.linked, to: .linking) else { return false }
        unsafe dependent?._withUnsafeGuaranteedRef { dependent in
            dependent.edges.withLock { _ in
                unsafe watched = .passRetained(WatchedTask(task))
                unsafe dependency.take()?.release()  // not the last: the caller has it
            }
        }
        if change(.linking, to: .linked) { return true }
        unsafe dependent.take()?.release()
        return false
    }

    /// What whoever linked the edge has held.
    private func letGo() {
        unsafe Unmanaged.passUnretained(self).release()
    }

    /// The dependency is over. Its edges are told so before any of them fires.
    func isOver(_ dependency: AnyTask) {
        unsafe watched?._withUnsafeGuaranteedRef { $0.isOver(dependency) }
    }

    /// The dependency goes, and will not be over.
    func isLost(_ title: String) {
        unsafe watched?._withUnsafeGuaranteedRef { $0.isLost(title) }
    }

    /// The dependency is over.
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
        // Acquires what the last owner wrote, and hands over what this one did.
        state.compareExchange(
            expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing
        ).exchanged
    }
}

/// A dependency that its dependents do not keep: it was started without a queue, and only who holds it can finish it.
/// Over, it is kept, for they may read its result.
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

/// Edges to what a task waits for, newest first. It holds them; whoever has it last takes them out.
@safe struct EdgeList: Sendable {
    private(set) var first: Unmanaged<Edge>?

    /// Takes over what the caller holds.
    mutating func add(_ edge: Unmanaged<Edge>) {
        unsafe edge._withUnsafeGuaranteedRef { unsafe $0.nextDependency = first }
        unsafe first = edge
    }

    /// The newest, which the caller holds from now on.
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
