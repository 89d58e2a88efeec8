internal import OverdriveCore
internal import Synchronization

/// A task did not run, because a task that it required to succeed did not.
public struct DependencyError: Error, CustomStringConvertible {
    /// The dependency's name in quotation marks, or its type.
    public let dependency: String
    /// The first cause: the dependency's error, or `CancellationError`. If the dependency did not run because of
    /// another one, the cause is that one's.
    public let underlying: any Error

    init(dependency: String, error: any Error) {
        self.dependency = dependency
        // Not error in error: a million of them would be as deep a stack when they go.
        underlying = (error as? DependencyError)?.underlying ?? error
    }

    public var description: String { "the dependency \(dependency) did not succeed: \(underlying)" }
}

extension AnyTask {
    /// The demand of a dependent on a dependency.
    public enum DependencyRequirement: Sendable {
        /// The dependency has finished, with any outcome.
        case finish
        /// That it succeeded; else the dependent fails with ``DependencyError``.
        case success
    }

    /// Has this task wait for another.
    ///
    ///     cachePhoto.add(dependency: downloadPhoto)
    ///
    /// The dependency may be on any queue, and may be shared by many dependents. One that is on none when this
    /// task is added to a queue is added to the same one. Dependents of a failed or cancelled dependency run,
    /// unless they require `.success`. A task that was ready gives up its place in its queue, which counts among the
    /// queue's closures until its turn has come.
    ///
    /// - Parameters:
    ///   - dependency: The task to wait for. A finished one is waited for no longer.
    ///   - requirement: What it has to come to.
    /// - Returns: Whether it counts: false when this task has begun or finished.
    /// - Ordering: What the dependency's body wrote is visible to this task's. Handlers of the dependency come before.
    /// - Threading: Any thread. Traps when the task would wait for itself, in a circle however long; the message
    ///   shows the path.
    /// - Cost: One allocation. If tasks wait for this task already, also a lock that all tasks share, and a search for a
    ///   circle. The search visits only the dependency's ancestors that an earlier order of the edges does not fit:
    ///   usually few, for some orders all of them at each edge.
    @discardableResult
    public final func add(
        dependency: AnyTask, requiring requirement: DependencyRequirement = .finish
    ) -> Bool {
        add(dependency: dependency, requiring: requirement) { path in
            trap("Task.add(dependency:): a circle (\(path)). Remove one of these dependencies.")
        }
    }

    /// Has this task wait for another, and calls `onCircle` with the path if the edge closes a circle.
    final func add(
        dependency: AnyTask, requiring requirement: DependencyRequirement, onCircle: (String) -> Void
    ) -> Bool {
        if dependency === self {
            trap("Task.add(dependency:): the task would wait for itself (\(title)). Choose another dependency.")
        }
        let edge = unsafe Unmanaged.passRetained(Edge(to: dependency, requiring: requirement))
        let isAwaited = dependency.take(.gainDependent)
        let (step, isLinkedHere) = edges.withLock { list -> (TaskState.Step, Bool) in
            // A finished dependency waits for nothing.
            let step = isAwaited ? rising(above: dependency) { self.step(.dependOn) } : self.step(.dependOn)
            guard step.actions.contains(.accept) else { return (step, false) }
            let isLinkedHere = unsafe step.actions.contains(.link) && edge._withUnsafeGuaranteedRef { $0.beginLinking(for: self) }
            if isLinkedHere { _ = unsafe edge.retain() }
            unsafe list.add(edge)
            return (step, isLinkedHere)
        }
        guard step.actions.contains(.accept) else {
            unsafe edge.release()
            return false
        }
        // Each edge announces its dependent to the dependency before the dependent's step. So at least one task of a circle
        // learns at its step that another task waits for it.
        if isAwaited, step.state.hasDependents, let path = circleClosed(by: dependency) { onCircle(path) }
        if isLinkedHere { unsafe edge._withUnsafeGuaranteedRef { Bounce.run($0) } }
        return true
    }

    /// Ends the waiting for a task.
    ///
    /// - Returns: Whether the task was a dependency, and this one has not begun.
    /// - Ordering: A task that waits for nothing else goes to its queue at once.
    /// - Threading: Any thread.
    /// - Cost: A lock and a look at each dependency.
    @discardableResult
    public final func remove(dependency: AnyTask) -> Bool {
        removeDependencies { $0 === dependency } > 0
    }

    /// Ends the waiting for all tasks of exactly this class.
    ///
    /// - Ordering: A task that waits for nothing else goes to its queue at once.
    /// - Threading: Any thread.
    /// - Cost: A lock and a look at each dependency.
    public final func remove<U>(dependency type: Task<U>.Type) {
        _ = removeDependencies { Swift.type(of: $0) == type }
    }

    final func removeDependencies(where matches: (AnyTask) -> Bool) -> Int {
        // Let go of without the lock: one that its dependents do not keep may be held by nobody else by then.
        var seen: [AnyTask] = []
        let removed = edges.withLock { list -> [Edge] in
            guard standing.phase < .executing, !standing.isSettled else { return [] }
            var removed: [Edge] = []
            var (all, kept) = (list.takeAll(), EdgeList())
            while let edge = unsafe all.takeFirst() {
                let task = unsafe edge._withUnsafeGuaranteedRef { $0.task }
                if let task { seen.append(task) }
                if let task, matches(task) {
                    unsafe removed.append(edge.takeRetainedValue())
                } else {
                    unsafe kept.add(edge)
                }
            }
            while let edge = unsafe kept.takeFirst() { unsafe list.add(edge) }
            return removed
        }
        for edge in removed where edge.remove() { take(.release) }
        withExtendedLifetime(seen) {}
        return removed.count
    }

    /// The dependencies, present and past, in the order in which they were added; none once the task has finished.
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

    /// The dependencies of a class, subclasses included, so that a body can read their results.
    ///
    ///     let photos = get(dependency: DownloadPhotoTask.self).compactMap { $0.result?.value }
    ///
    /// - Returns: The dependencies of that class in the order in which they were added.
    /// - Ordering: In the task's body all of them are over, and their results are there.
    /// - Threading: Any thread.
    /// - Cost: An array of all dependencies and one of those that are found.
    public final func get<D: AnyTask>(dependency type: D.Type) -> [D] {
        dependencies.compactMap { $0 as? D }
    }

    // MARK: - Linking and releasing

    /// The task is on a queue now: its dependencies are told whom to release.
    final func linkDependencies(byProducer: Bool) {
        // A condition may have come just before the task was on the queue, when there was none yet to be asked.
        if standing.isConditional { carryOut(.prepareConditions) }
        // The newest is first: turned round, they are linked in the order in which they were added.
        var ordered = unsafe edges.withLock { list -> Unmanaged<Edge>? in
            var ordered: Unmanaged<Edge>?
            list.forEach { edge in
                guard edge.beginLinking(for: self) else { return }
                unsafe edge.nextDependent = ordered
                unsafe ordered = Unmanaged.passRetained(edge)
            }
            return unsafe ordered
        }
        while let entry = unsafe ordered {
            unsafe entry._withUnsafeGuaranteedRef { edge in
                unsafe ordered = edge.nextDependent
                if !edge.linkAtOnce() { Bounce.run(edge) }
            }
        }
        take(.release, byProducer: byProducer)
    }

    /// The end of the list of a task that is over: no edge is there.
    private static var closedList: UnsafeMutableRawPointer? { unsafe UnsafeMutableRawPointer(bitPattern: 1) }

    /// Puts an edge where the end of this task finds it, and takes over what the caller holds of it. False: it is over.
    final func attach(_ edge: Edge) -> Bool {
        // One that was over before anybody depended on it has no list to close, and looks at none.
        guard standing.hasDependents else { return false }
        let entry = unsafe Unmanaged.passUnretained(edge)
        var head = unsafe dependents.load(ordering: .relaxed)
        while true {
            if unsafe head == AnyTask.closedList { return false }
            unsafe edge.nextDependent = head.map { unsafe Unmanaged.fromOpaque($0) }
            // Releases the edge to whoever takes the list.
            let (exchanged, found) = unsafe dependents.weakCompareExchange(
                expected: head, desired: entry.toOpaque(), ordering: .acquiringAndReleasing)
            if exchanged { return true }
            unsafe head = found
        }
    }

    /// Only who holds the task can finish it any more: then those that wait for it keep it no longer.
    ///
    /// Called by the thread on which the body has returned, and by whoever has attached an edge to a task without a queue.
    /// Of the two, the later one on the word finds what the other did: the list with the edge, or a body that has
    /// returned. Edges that come meanwhile may be released in another order.
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
            if edge.isDone { return false }
            count += 1
            return true
        }
        makeExtras().locked { $0.sweptDependents = count }
        // If the body returned during the sweep, its thread found no list.
        stopBeingKept()
    }

    /// Takes the list of dependents, and puts back those edges for which `belongs` returns true.
    private func retakeDependents(where belongs: (Edge) -> Bool) {
        var kept: Unmanaged<Edge>?
        var head = unsafe dependents.load(ordering: .acquiring)
        while unsafe head != nil || kept != nil {
            if unsafe head == AnyTask.closedList {
                unsafe release(kept)  // it was finished meanwhile
                return
            }
            // Takes the list, and acquires it; or puts back what was taken, and releases it. Who attached an edge that is
            // taken may find no list, and leaves it to this thread.
            let (exchanged, found) = unsafe dependents.compareExchange(
                expected: head, desired: head == nil ? kept?.toOpaque() : nil, ordering: .acquiringAndReleasing)
            if exchanged, unsafe head == nil { return }
            if exchanged, let head = unsafe head { unsafe kept = remaining(.fromOpaque(head), before: kept, where: belongs) }
            unsafe head = exchanged ? dependents.load(ordering: .acquiring) : found
        }
    }

    /// Edges that were taken from the list, in front of others; without those for which `belongs` returns false.
    private func remaining(
        _ taken: Unmanaged<Edge>, before rest: Unmanaged<Edge>?, where belongs: (Edge) -> Bool
    ) -> Unmanaged<Edge>? {
        var (first, last) = unsafe (rest, Unmanaged<Edge>?.none)
        var next: Unmanaged<Edge>? = unsafe taken
        while let entry = unsafe next {
            let isKept = unsafe entry._withUnsafeGuaranteedRef { edge in
                unsafe next = edge.nextDependent
                unsafe edge.nextDependent = rest
                return belongs(edge)
            }
            guard isKept else {
                unsafe entry.release()
                continue
            }
            if let last = unsafe last { unsafe last._withUnsafeGuaranteedRef { unsafe $0.nextDependent = entry } } else { unsafe first = entry }
            unsafe last = entry
        }
        return unsafe first
    }

    /// The task is over, as far as dependents are concerned.
    ///
    /// - Parameter isLost: It goes, and nobody has finished it.
    final func releaseDependents(isLost: Bool = false) {
        unsafe release(
            dependents.exchange(AnyTask.closedList, ordering: .acquiringAndReleasing).map { unsafe .fromOpaque($0) },
            isLost: isLost)
    }

    /// Releases those whose edges this thread has taken from the list.
    private func release(_ taken: Unmanaged<Edge>?, isLost: Bool = false) {
        var next = unsafe taken
        // The newest is first: turned round, they are released in the order in which they came.
        var ordered: Unmanaged<Edge>?
        while let entry = unsafe next {
            unsafe next = entry._withUnsafeGuaranteedRef { edge in
                if isLost { edge.isLost(title) } else { edge.isOver(self) }
                let following = unsafe edge.nextDependent
                unsafe edge.nextDependent = ordered
                return unsafe following
            }
            unsafe ordered = entry
        }
        while let entry = unsafe ordered {
            unsafe entry._withUnsafeGuaranteedRef { edge in
                unsafe ordered = edge.nextDependent
                unsafe edge.nextDependent = nil
                Bounce.run(edge)
            }
            unsafe entry.release()
        }
    }

    /// The task is over: it lets go of what it waited for.
    final func dropDependencies() {
        var all = edges.withLock { $0.takeAll() }
        while let edge = unsafe all.takeFirst() {
            _ = unsafe edge._withUnsafeGuaranteedRef { $0.remove() }
            unsafe edge.release()
        }
    }

    /// The task goes without having been started: so may a million before it, one after another.
    final func dropUnstartedDependencies() {
        var pending = [edges.withLock { $0.takeAll() }]
        while var list = pending.popLast() {
            guard let edge = unsafe list.takeFirst() else { continue }
            pending.append(list)
            var dependency = unsafe edge._withUnsafeGuaranteedRef { $0.takeDependency() }
            unsafe edge.release()
            guard isKnownUniquelyReferenced(&dependency) else { continue }
            if let rest = dependency?.edges.withLock({ $0.takeAll() }) { pending.append(rest) }
        }
    }
}
