// Owns the edges between a dependency and its dependents, and the dependent's list of them. AnyTask+Dependencies
// creates, links and fires them. An edge never runs a body.

internal import OverdriveCore
internal import Synchronization

/// The fact that one task waits for another.
///
/// An edge is in two lists. It is in the dependent's list from ``AnyTask/add(dependency:requiring:)`` on, and in the
/// dependency's list once the dependent is on a queue. The dependent's word counts it until the edge is done: fired
/// by the end of the dependency, or removed. The thread that changes `state` to fired or removed decrements that
/// count.
///
/// Each list holds one reference to the edge. The thread that links the edge passes its reference to the dependency's
/// list. The last reference releases the tasks of the edge.
///
/// The record of a task's first edge lies in the dependent, so that most edges need no allocation. While the edge is
/// linked, `dependent` keeps that memory. A thread that removes a linked edge puts a ``MemoryHold`` there before, because
/// the edge stays in the dependency's list. Threads therefore drop a reference to the edge before `dependent`.
///
/// Each field belongs to one thread at a time. The lock of the dependent's list guards `nextDependency`. `dependent`
/// belongs to the linking thread, and then to the thread that makes the edge done. `next` belongs to the
/// linking thread, and then to the dependency's list. The thread that has taken the dependency's list sets `watched`
/// and clears `dependency`, in state `linking` and under the lock of the dependent's list. Otherwise `dependency` is
/// cleared after the edge has left the dependent's list, or with the dependent's deinitialisation. `hold` belongs to the
/// thread that removes the edge, and then to the last reference.
@safe struct Edge: @unchecked Sendable {
    fileprivate enum State: UInt8 {
        /// A task's own record before its first dependency.
        case unused
        case idle, linking, linked, fired, removed
    }

    /// The fields of an edge. The references are managed by hand: the deinitialisation of the dependent, which may
    /// contain the record, must not touch them.
    @safe struct Record: ~Copyable {
        fileprivate var dependency: Unmanaged<AnyTask>?
        /// Replaces `dependency` if the dependents do not retain it.
        fileprivate var watched: Unmanaged<WatchedTask>?
        fileprivate var nextDependency: Edge?
        /// The next edge of the dependency's list, or the next entry of a thread's line.
        fileprivate var next: UInt = 0
        /// The dependent, retained from the linking until the edge is done.
        fileprivate var dependent: Unmanaged<AnyTask>?
        fileprivate var hold: Unmanaged<MemoryHold>?
        fileprivate let references = Atomic<UInt32>(0)
        fileprivate let state = Atomic(State.unused.rawValue)
        fileprivate var requirement = AnyTask.DependencyRequirement.finish
        fileprivate var isAllocated = false
        fileprivate var isLinked = false

        /// Whether the record has had no edge. The caller holds the lock of the dependent's list.
        var isUnused: Bool { state.load(ordering: .relaxed) == State.unused.rawValue }  // relaxed: under the lock
    }

    private let record: UnsafeMutablePointer<Record>

    /// Creates an edge inside its dependent. The dependent's list holds the first reference.
    ///
    /// - Parameter own: The dependent's own record, which is unused. The caller holds the lock of the dependent's list.
    init(
        to dependency: AnyTask, requiring requirement: AnyTask.DependencyRequirement, in own: UnsafeMutablePointer<Record>
    ) {
        unsafe record = own
        unsafe record.pointee.dependency = .passRetained(dependency)
        unsafe record.pointee.requirement = requirement
        // relaxed, both: not shared yet
        unsafe record.pointee.references.store(1, ordering: .relaxed)
        unsafe record.pointee.state.store(State.idle.rawValue, ordering: .relaxed)
    }

    /// Creates an edge outside its dependent. The dependent's list holds the first reference.
    init(to dependency: AnyTask, requiring requirement: AnyTask.DependencyRequirement) {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<Record>.size, alignment: MemoryLayout<Record>.alignment)
        let place = unsafe memory.initializeMemory(as: Record.self, to: Record())
        unsafe place.pointee.isAllocated = true
        unsafe self.init(to: dependency, requiring: requirement, in: place)
    }

    /// An edge as an entry of the dependency's list.
    init?(entry: UnsafeMutableRawPointer?) {
        guard let entry = unsafe entry else { return nil }
        unsafe record = entry.assumingMemoryBound(to: Record.self)
    }

    var entry: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(record) }

    /// The next edge of the dependency's list.
    var nextDependent: Edge? {
        get { unsafe Edge(entry: UnsafeMutableRawPointer(bitPattern: record.pointee.next)) }
        nonmutating set { unsafe record.pointee.next = newValue.map { unsafe UInt(bitPattern: $0.entry) } ?? 0 }
    }

    /// The next entry of a thread's line.
    var nextInLine: UInt {
        get { unsafe record.pointee.next }
        nonmutating set { unsafe record.pointee.next = newValue }
    }

    fileprivate var nextDependency: Edge? {
        get { unsafe record.pointee.nextDependency }
        nonmutating set { unsafe record.pointee.nextDependency = newValue }
    }

    private var requirement: AnyTask.DependencyRequirement { unsafe record.pointee.requirement }

    /// The dependency; nil if it was not retained and is gone.
    var task: AnyTask? {
        unsafe record.pointee.dependency?.takeUnretainedValue() ?? record.pointee.watched?.takeUnretainedValue().task
    }

    /// Keeps the memory of a removed edge in its dependency's list. Tests ask for it.
    var hold: MemoryHold? { unsafe record.pointee.hold?.takeUnretainedValue() }

    /// Moves the dependency out of the edge, which no thread uses afterwards.
    func takeDependency() -> AnyTask? { unsafe movedDependency()?.takeRetainedValue() }

    // Without `take()`, which is a modifying access to the whole record: other threads read its other fields.
    private func movedDependency() -> Unmanaged<AnyTask>? {
        let dependency = unsafe record.pointee.dependency
        unsafe record.pointee.dependency = nil
        return unsafe dependency
    }

    private func movedDependent() -> Unmanaged<AnyTask>? {
        let dependent = unsafe record.pointee.dependent
        unsafe record.pointee.dependent = nil
        return unsafe dependent
    }

    /// Drops a reference to the edge.
    @inline(__always)
    func release() {
        // Releases this thread's accesses, and acquires those of the other holder.
        if unsafe record.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { end() }
    }

    /// Releases the tasks of the edge, and an allocated record. This thread has dropped the last reference.
    @inline(never)
    private func end() {
        let (dependency, watched) = unsafe (record.pointee.dependency, record.pointee.watched)
        let (dependent, hold) = unsafe (record.pointee.dependent, record.pointee.hold)
        unsafe record.pointee.hold = nil
        if unsafe record.pointee.isAllocated { unsafe UnsafeMutableRawPointer(record).deallocate() }
        unsafe dependency?.release()
        unsafe watched?.release()
        unsafe dependent?.release()
        unsafe hold?.release()
    }

    /// Begins the linking of the edge into the dependency's list. The linking thread gets a reference. Returns false
    /// if a thread has done this before.
    ///
    /// The caller holds the lock of the dependent's list, which contains the edge. No other thread therefore changes
    /// an idle edge.
    func beginLinking(for dependent: AnyTask) -> Bool {
        // relaxed, all: under the lock
        guard unsafe record.pointee.state.load(ordering: .relaxed) == State.idle.rawValue else { return false }
        unsafe record.pointee.state.store(State.linking.rawValue, ordering: .relaxed)
        unsafe record.pointee.references.store(2, ordering: .relaxed)
        unsafe record.pointee.dependent = .passRetained(dependent)
        return true
    }

    /// Ends the dependent's wait for the dependency. Returns false if the dependency was faster and has decremented
    /// the count.
    func remove(from dependent: AnyTask) -> Bool {
        repeat {
            // Most edges have fired when their dependent is released.
            if isDone { return false }
            if change(.idle, to: .removed) || change(.linking, to: .removed) { return true }
            if unsafe !record.pointee.isAllocated && record.pointee.hold == nil {
                unsafe record.pointee.hold = .passRetained(MemoryHold(of: dependent))
            }
        } while !change(.linked, to: .removed)
        unsafe movedDependent()?.release()
        // The dependency's list retains the edge until a sweep, so this reference would form a cycle.
        let task = unsafe movedDependency()?.takeRetainedValue()
            ?? record.pointee.watched?.takeUnretainedValue().task
        task?.noteRemovedDependent()
        return true
    }

    /// Whether the edge is over for both ends. Acquires the writes of the thread that made it so.
    var isDone: Bool { unsafe record.pointee.state.load(ordering: .acquiring) >= State.fired.rawValue }

    /// Links an edge that only requires the end of a task on a queue. This calls no code of the program, so it needs
    /// no line of the thread's trampoline. Returns false if the edge was not linked.
    func linkAtOnce() -> Bool {
        guard requirement == .finish, let dependency = unsafe record.pointee.dependency,
            unsafe dependency._withUnsafeGuaranteedRef({ $0.isOnQueue })
        else { return false }
        finishLinking()
        return true
    }

    /// Links the edge, and passes on or drops the linking thread's reference.
    func finishLinking() {
        // Retained: another thread may remove the edge and release the dependency at any time.
        guard let dependency = unsafe record.pointee.dependency?.takeUnretainedValue() else { return }
        if !dependency.isOnQueue { unsafe record.pointee.dependent?._withUnsafeGuaranteedRef { $0.bring(dependency) } }
        let isKept = dependency.isOnQueue || !dependency.isForgettable(in: dependency.standing)
        if !isKept { watch(dependency) }
        unsafe record.pointee.isLinked = true
        // The edge may have been removed during the linking.
        guard change(.linking, to: .linked) else { return letGo() }
        // From here on another thread may hold and release the last reference to the edge.
        guard dependency.attach(self) else {
            isOver(dependency)
            return fire()
        }
        // The dependency's body may have returned before the edge was in the list.
        if isKept, !dependency.isOnQueue { dependency.stopBeingKept() }
    }

    /// Makes the dependent stop retaining the dependency. The edge is in state `linking`, and the caller retains the
    /// dependency.
    private func watch(_ dependency: AnyTask) {
        unsafe record.pointee.dependent?._withUnsafeGuaranteedRef { dependent in
            dependent.edges.withLock { _ in
                unsafe record.pointee.watched = .passRetained(WatchedTask(dependency))
                unsafe movedDependency()?.release()
            }
        }
    }

    /// Makes the dependent stop retaining the dependency, whose list the caller has taken. Returns false if the edge
    /// was removed and must not return to the list, whose reference is then dropped.
    func stopKeeping(_ task: AnyTask) -> Bool {
        if unsafe record.pointee.watched != nil { return true }
        // As during the linking, a thread that removes the edge now leaves the rest to this thread.
        guard change(.linked, to: .linking) else {
            release()
            return false
        }
        watch(task)
        if change(.linking, to: .linked) { return true }
        letGo()
        return false
    }

    /// Drops a reference to an edge that was removed in state `linking`, and the reference to its dependent.
    private func letGo() {
        let dependent = unsafe movedDependent()
        release()
        unsafe dependent?.release()
    }

    /// Records that the dependency has finished. All edges of a dependency are told before any of them fires.
    func isOver(_ dependency: AnyTask) {
        unsafe record.pointee.watched?._withUnsafeGuaranteedRef { $0.isOver(dependency) }
    }

    /// Records that the dependency is gone without an outcome.
    func isLost(_ title: String) {
        unsafe record.pointee.watched?._withUnsafeGuaranteedRef { $0.isLost(title) }
    }

    /// Whether ``go()`` needs no line: a release alone calls no code of the program.
    var firesAlone: Bool { requirement == .finish }

    /// Fires the edge, or finishes its linking. Passes on or drops a reference to the edge.
    func go() {
        if unsafe record.pointee.isLinked { fire() } else { finishLinking() }
    }

    /// Handles the end of the dependency: decrements the dependent's count, or fails the dependent. Drops a reference to
    /// the edge.
    private func fire() {
        var none = unsafe Unmanaged<AnyTask>?.none
        guard let ready = unsafe fireForReady(after: &none) else { return }
        unsafe AnyTask.submit(ready)
    }

    /// Fires the edge. Returns the dependent, with a reference to it, if the caller must submit it. `last`: an earlier
    /// dependent that is submitted before code of the program is called.
    @inline(__always)
    func fireForReady(after last: inout Unmanaged<AnyTask>?) -> Unmanaged<AnyTask>? {
        guard change(.linked, to: .fired), let dependent = unsafe movedDependent() else {
            release()
            return nil
        }
        let isReady = unsafe dependent._withUnsafeGuaranteedRef { dependent in
            if requirement == .success { require(of: dependent) }
            release()
            return unsafe dependent.releaseOne(after: &last)
        }
        if isReady { return unsafe dependent }
        unsafe dependent.release()
        return nil
    }

    private func require(of dependent: AnyTask) {
        if let task {
            if let error = task.failure { dependent.fail(DependencyError(dependency: task.title, error: error)) }
        } else {
            let title = unsafe record.pointee.watched?.takeUnretainedValue().title ?? ""
            dependent.fail(DependencyError(dependency: title, error: CancellationError()))
        }
    }

    private func change(_ old: State, to new: State) -> Bool {
        // Acquires the writes of the last owner, and releases those of this thread.
        unsafe record.pointee.state.compareExchange(
            expected: old.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing
        ).exchanged
    }
}

/// Keeps a task's memory, and nothing else of the task.
final class MemoryHold {
    private unowned let task: AnyTask

    init(of task: AnyTask) { self.task = task }
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
struct EdgeList: Sendable {
    private(set) var first: Edge?

    /// Adds an edge and takes over the caller's reference.
    mutating func add(_ edge: Edge) {
        edge.nextDependency = first
        first = edge
    }

    /// Removes the newest edge and passes its reference to the caller.
    mutating func takeFirst() -> Edge? {
        guard let edge = first else { return nil }
        first = edge.nextDependency
        edge.nextDependency = nil
        return edge
    }

    mutating func takeAll() -> EdgeList {
        defer { first = nil }
        return self
    }

    func forEach(_ body: (Edge) -> Void) {
        var next = first
        while let edge = next {
            next = edge.nextDependency
            body(edge)
        }
    }
}
