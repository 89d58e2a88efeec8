// Owns the dependencies of a task: adding, removing, linking and releasing them. Programs and the state machine call
// it. It never runs a body.

internal import OverdriveCore
internal import Synchronization

/// The error of a task that did not run, because a dependency that it requires to succeed did not succeed.
public struct DependencyError: Error, CustomStringConvertible {
    /// The dependency's name in quotation marks, or its type.
    public let dependency: String
    /// The first cause: the dependency's error, or `CancellationError`. If the dependency failed because of another
    /// dependency, this is the cause of that failure.
    public let underlying: any Error

    init(dependency: String, error: any Error) {
        self.dependency = dependency
        // Errors are not nested: the deinitialisation of a million nested errors would overflow the stack.
        underlying = (error as? DependencyError)?.underlying ?? error
    }

    public var description: String { "the dependency \(dependency) did not succeed: \(underlying)" }
}

extension AnyTask {
    /// The outcome of a dependency that a dependent requires.
    public enum DependencyRequirement: Sendable {
        /// The dependency has finished, with any outcome.
        case finish
        /// The dependency has succeeded. Otherwise the dependent fails with ``DependencyError``.
        case success
    }

    /// Makes this task wait for another task.
    ///
    ///     cachePhoto.add(dependency: downloadPhoto)
    ///
    /// The dependency may be on any queue, and may have many dependents. If it is on no queue when this task is added
    /// to one, it is added to the same queue. Dependents of a failed or cancelled dependency run, unless they require
    /// `.success`. If this task was ready, its entry in the queue becomes void, but counts among the queue's closures
    /// until its turn.
    ///
    /// - Parameters:
    ///   - dependency: The task to wait for. It may have finished.
    ///   - requirement: The required outcome of the dependency.
    /// - Returns: Whether the dependency was added: false if this task has begun or finished.
    /// - Ordering: The writes of the dependency's body are visible to this task's body. Handlers of the dependency
    ///   run before.
    /// - Threading: Any thread. Traps if the edge closes a cycle of any length; the message shows the path.
    /// - Cost: An allocation, except for the first dependency. If this task has dependents, also a lock that all tasks share, and a search for a
    ///   cycle. The search visits only ancestors whose level must change: usually few, in the worst case all of them
    ///   for each edge.
    @discardableResult
    public final func add(
        dependency: AnyTask, requiring requirement: DependencyRequirement = .finish
    ) -> Bool {
        add(dependency: dependency, requiring: requirement) { path in
            trap("Task.add(dependency:): a circle (\(path)). Remove one of these dependencies.")
        }
    }

    /// Makes this task wait for another task, and calls `onCircle` with the path if the edge closes a cycle.
    final func add(
        dependency: AnyTask, requiring requirement: DependencyRequirement, onCircle: (String) -> Void
    ) -> Bool {
        if dependency === self {
            trap("Task.add(dependency:): the task would wait for itself (\(title)). Choose another dependency.")
        }
        let isAwaited = dependency.take(.gainDependent)
        let (step, linked) = edges.withLock { list -> (TaskState.Step, Edge?) in
            // A finished dependency has no dependencies.
            let step = isAwaited ? rising(above: dependency) { self.step(.dependOn) } : self.step(.dependOn)
            guard step.actions.contains(.accept) else { return (step, nil) }
            let edge = unsafe firstEdge.isUnused
                ? Edge(to: dependency, requiring: requirement, in: &firstEdge)
                : Edge(to: dependency, requiring: requirement)
            list.add(edge)
            return (step, step.actions.contains(.link) && edge.beginLinking(for: self) ? edge : nil)
        }
        guard step.actions.contains(.accept) else { return false }
        // Each edge takes the dependency's step `gainDependent` before the dependent's step. So at least one task of
        // a cycle sees at its step that it has a dependent.
        if isAwaited, step.state.hasDependents, let path = circleClosed(by: dependency) { onCircle(path) }
        if let linked { Bounce.run(linked) }
        return true
    }

    /// Removes a dependency.
    ///
    /// - Parameter dependency: The task that this task waits for.
    /// - Returns: Whether the task was a dependency, and this task has not begun.
    /// - Ordering: A task without other dependencies is submitted at once.
    /// - Threading: Any thread.
    /// - Cost: A lock and a comparison for each dependency.
    @discardableResult
    public final func remove(dependency: AnyTask) -> Bool {
        removeDependencies { $0 === dependency } > 0
    }

    /// Removes all dependencies of exactly this class.
    ///
    /// - Parameter type: The class of the dependencies.
    /// - Ordering: A task without other dependencies is submitted at once.
    /// - Threading: Any thread.
    /// - Cost: A lock and a comparison for each dependency.
    public final func remove<U>(dependency type: Task<U>.Type) {
        _ = removeDependencies { Swift.type(of: $0) == type }
    }

    final func removeDependencies(where matches: (AnyTask) -> Bool) -> Int {
        // Released after the lock: this may be the last reference to a dependency that its dependents do not retain.
        var seen: [AnyTask] = []
        let removed = edges.withLock { list -> [Edge] in
            guard standing.phase < .executing, !standing.isSettled else { return [] }
            var removed: [Edge] = []
            var (all, kept) = (list.takeAll(), EdgeList())
            while let edge = all.takeFirst() {
                let task = edge.task
                if let task { seen.append(task) }
                if let task, matches(task) { removed.append(edge) } else { kept.add(edge) }
            }
            while let edge = kept.takeFirst() { list.add(edge) }
            return removed
        }
        for edge in removed {
            let isRemoved = edge.remove(from: self)
            edge.release()
            if isRemoved { take(.release) }
        }
        withExtendedLifetime(seen) {}
        return removed.count
    }

    /// The dependencies, finished ones included, in the order in which they were added. The array is empty once the
    /// task has finished.
    public final var dependencies: [AnyTask] {
        edges.withLock { list in
            var all: [AnyTask] = []
            list.forEach { edge in
                if let task = edge.task { all.append(task) }
            }
            all.reverse()
            return all
        }
    }

    /// Returns the dependencies of a class or its subclasses, so that a body can read their results.
    ///
    ///     let photos = get(dependency: DownloadPhotoTask.self).compactMap { $0.result?.value }
    ///
    /// - Returns: The dependencies of that class in the order in which they were added.
    /// - Ordering: In the task's body all dependencies have finished, and their results are available.
    /// - Threading: Any thread.
    /// - Cost: An array of all dependencies and an array of the result.
    public final func get<D: AnyTask>(dependency type: D.Type) -> [D] {
        dependencies.compactMap { $0 as? D }
    }

    // MARK: - Linking and releasing

    /// Links the edges of a task that is on a queue, so that the end of each dependency releases the task.
    final func linkDependencies(byProducer: Bool) {
        // A condition may have been added just before the task was on the queue, when there was no condition to
        // prepare.
        if standing.isConditional { carryOut(.prepareConditions) }
        // The list has the newest edge first. It is reversed, so that edges are linked in the order in which they
        // were added.
        var ordered = edges.withLock { list -> Edge? in
            var ordered: Edge?
            list.forEach { edge in
                guard edge.beginLinking(for: self) else { return }
                edge.nextDependent = ordered
                ordered = edge
            }
            return ordered
        }
        while let edge = ordered {
            ordered = edge.nextDependent
            if !edge.linkAtOnce() { Bounce.run(edge) }
        }
        take(.release, byProducer: byProducer)
    }

    /// Marks the list of a finished task, which has no edges.
    private static var closedList: UnsafeMutableRawPointer? { unsafe UnsafeMutableRawPointer(bitPattern: 1) }

    /// Adds an edge to the list that the end of this task releases, and takes over the caller's reference. Returns
    /// false if the task has finished.
    final func attach(_ edge: Edge) -> Bool {
        // A task that finished before it had dependents did not close its list.
        guard standing.hasDependents else { return false }
        var head = unsafe dependents.load(ordering: .relaxed)
        while true {
            if unsafe head == AnyTask.closedList { return false }
            edge.nextDependent = unsafe Edge(entry: head)
            // Releases the edge to the thread that takes the list.
            let (exchanged, found) = unsafe dependents.weakCompareExchange(
                expected: head, desired: edge.entry, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            unsafe head = found
        }
    }

    /// Makes dependents stop retaining the task, if only a holder of the task can finish it.
    ///
    /// The thread on which the body has returned calls it, and so does a thread that has attached an edge to a task without
    /// a queue. The later one on the word finds the other's effect: the edge in the list, or the returned body. Edges that
    /// are added during the call may be released in another order.
    final func stopBeingKept() {
        guard isForgettable(in: standingInFull) else { return }
        retakeDependents { edge in edge.stopKeeping(self) }
    }

    /// Notes that a dependent no longer waits although its edge is in the list. Once half of the edges are removed ones, a sweep
    /// takes them out of the list.
    final func noteRemovedDependent() {
        let isDue = makeExtras().locked { fields in
            fields.removedDependents += 1
            guard fields.removedDependents > max(32, fields.sweptDependents) else { return false }
            fields.removedDependents = 0
            return true
        }
        guard isDue else { return }
        var count = 0
        retakeDependents { edge in
            if edge.isDone {
                edge.release()
                return false
            }
            count += 1
            return true
        }
        makeExtras().locked { $0.sweptDependents = count }
        // A thread whose body returned during the sweep found an empty list. This call does that thread's work.
        stopBeingKept()
    }

    /// Takes the list of dependents, and puts back those edges for which `belongs` returns true. It drops the list's
    /// reference to the others.
    private func retakeDependents(where belongs: (Edge) -> Bool) {
        var kept: Edge?
        var head = unsafe dependents.load(ordering: .acquiring)
        while unsafe head != nil || kept != nil {
            if unsafe head == AnyTask.closedList {
                // Another thread has finished the task.
                if let last = unsafe release(kept) { unsafe AnyTask.submit(last) }
                return
            }
            // Takes the list and acquires it, or puts the taken edges back and releases them. A thread whose attached
            // edge was taken may find an empty list, and leaves the work to this thread.
            let (exchanged, found) = unsafe dependents.compareExchange(
                expected: head, desired: head == nil ? kept?.entry : nil, ordering: .acquiringAndReleasing)
            if exchanged, unsafe head == nil { return }
            if exchanged { kept = unsafe remaining(Edge(entry: head), before: kept, where: belongs) }
            unsafe head = exchanged ? dependents.load(ordering: .acquiring) : found
        }
    }

    /// Edges that were taken from the list, in front of others; without those for which `belongs` returns false.
    private func remaining(_ taken: Edge?, before rest: Edge?, where belongs: (Edge) -> Bool) -> Edge? {
        var (first, last) = (rest, Edge?.none)
        var next = taken
        while let edge = next {
            next = edge.nextDependent
            edge.nextDependent = rest
            guard belongs(edge) else { continue }
            if let last { last.nextDependent = edge } else { first = edge }
            last = edge
        }
        return first
    }

    /// Releases the dependents of a task that has ended.
    ///
    /// - Parameter isLost: Whether the task is being deinitialised without an outcome.
    final func releaseDependents(isLost: Bool = false) {
        if let last = unsafe takeLastDependent(isLost: isLost) { unsafe AnyTask.submit(last) }
    }

    /// Releases the dependents of a task that has ended. The last one that it makes ready is returned with a reference,
    /// and the caller submits that one.
    final func takeLastDependent(isLost: Bool = false) -> Unmanaged<AnyTask>? {
        unsafe release(
            Edge(entry: dependents.exchange(AnyTask.closedList, ordering: .acquiringAndReleasing)), isLost: isLost)
    }

    /// Releases the dependents whose edges this thread has taken from the list; see ``takeLastDependent(isLost:)``.
    private func release(_ taken: Edge?, isLost: Bool = false) -> Unmanaged<AnyTask>? {
        var next = taken
        // The list has the newest edge first. It is reversed, so that dependents are released in the order in which
        // they came.
        var ordered: Edge?
        while let edge = next {
            if isLost { edge.isLost(title) } else { edge.isOver(self) }
            next = edge.nextDependent
            edge.nextDependent = ordered
            ordered = edge
        }
        var last = unsafe Unmanaged<AnyTask>?.none
        while let edge = ordered {
            ordered = edge.nextDependent
            guard edge.firesAlone, !Bounce.isInLine else {
                // The edge may call code of the program, which may wait for an earlier dependent.
                if let before = unsafe last.take() { unsafe AnyTask.submit(before) }
                Bounce.run(edge)
                continue
            }
            guard let ready = unsafe edge.fireForReady(after: &last) else { continue }
            if let before = unsafe last { unsafe AnyTask.submit(before) }
            unsafe last = unsafe ready
        }
        return unsafe last
    }

    /// Takes the end of a dependency into account. Returns whether the caller must submit the task. Most ends need no
    /// line: a submission calls no code of the program. If the end may call such code, `last` is submitted before.
    @inline(__always)
    final func releaseOne(after last: inout Unmanaged<AnyTask>?) -> Bool {
        let actions = step(.release).actions
        if actions == [.accept, .submit] { return true }
        if actions != .accept {
            if let before = unsafe last.take() { unsafe AnyTask.submit(before) }
            releaseRarely(actions)
        }
        return false
    }

    @inline(never)
    private func releaseRarely(_ actions: TaskState.Actions) {
        if Bounce.isInLine { perform(actions) } else { Bounce.run { self.perform(actions) } }
    }

    /// Releases the edges of a finished task to its dependencies.
    final func dropDependencies() {
        var all = edges.withLock { $0.takeAll() }
        while let edge = all.takeFirst() {
            if !edge.isDone { _ = edge.remove(from: self) }  // the test is inlined, because most have fired
            edge.release()
        }
    }

    /// Releases the dependencies of a task that was never started, in a loop. A chain may have a million of them, and
    /// recursion would overflow the stack.
    final func dropUnstartedDependencies() {
        // The owner of a list keeps the memory of its first edge. This task, which is being deinitialised, has no owner.
        var pending: [(owner: AnyTask?, list: EdgeList)] = [(nil, edges.withLock { $0.takeAll() })]
        while var (owner, list) = pending.popLast() {
            guard let edge = list.takeFirst() else { continue }
            var dependency = edge.takeDependency()
            edge.release()
            if list.first != nil { pending.append((owner, list)) }
            owner = nil
            guard isKnownUniquelyReferenced(&dependency), let task = dependency else { continue }
            pending.append((task, task.edges.withLock { $0.takeAll() }))
        }
    }
}
