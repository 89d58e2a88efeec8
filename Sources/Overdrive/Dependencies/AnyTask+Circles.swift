// Owns the search for cycles of dependencies. `add(dependency:)` calls it for each edge to a task that waits itself. It never
// runs a task.

internal import OverdriveCore
internal import Synchronization

// Finds cycles of tasks that wait for one another, when an edge is added. Each task has a level above the levels of
// all its dependencies. An edge from a higher to a lower level closes no cycle. Any other edge lowers the dependency,
// and the tasks below it, until the levels fit or the search meets the dependent. A removed edge changes no level.

extension AnyTask {
    /// Held by threads that add dependencies to tasks with dependents. Lock order: before the lock of a task's edges.
    private static let levelLock = Locked<UInt8>(0)

    /// Raises the task's level above a dependency's, and takes the step. If the task has dependents then, the level
    /// is restored and ``circleClosed(by:)`` compares levels.
    ///
    /// The caller holds the lock of the list, and has taken the dependency's step `gainDependent`. From then on the
    /// dependency's level only falls.
    @inline(__always)
    final func rising(above dependency: AnyTask, _ step: () -> TaskState.Step) -> TaskState.Step {
        // relaxed, all: the exchange of the word, or the lock of the list, publishes the level
        let before = level.load(ordering: .relaxed)
        let needed = dependency.level.load(ordering: .relaxed) + 1
        guard needed > before, !standing.hasDependents else { return step() }
        // The store precedes the step: a thread that sees the dependent of the dependency sees this level.
        level.store(needed, ordering: .relaxed)
        let taken = step()
        if taken.state.hasDependents { level.store(before, ordering: .relaxed) }
        return taken
    }

    /// Returns the path of the cycle that the edge to a dependency closes, such as "a waits for b, b for a". Returns nil if
    /// there is none. The edge is already in the list.
    ///
    /// If several threads close a cycle at once, the last one to take the lock finds the edges of all others.
    final func circleClosed(by dependency: AnyTask) -> String? {
        let fits = AnyTask.levelLock.withLock { _ in
            let top = level.load(ordering: .relaxed)  // relaxed, both: see rising(above:_:)
            // Most dependencies have no dependencies yet.
            return dependency.level.load(ordering: .relaxed) < top || dependency.sinkAlone(to: top - 1)
        }
        return fits ? nil : searchCircle(through: dependency)
    }

    /// Searches for the cycle, which may take long; see ``circleClosed(by:)``.
    private func searchCircle(through dependency: AnyTask) -> String? {
        var steps = 4096
        while true {
            // Released after the lock, because the release of a task's last reference runs the program's code.
            var sinking = Sinking()
            let end = AnyTask.levelLock.withLock { _ in sinking.sink(dependency, below: self, steps: steps) }
            withExtendedLifetime(sinking) {}
            switch end {
            case .fits: return nil
            case .circle:
                let path = pathOfCircle(through: dependency)
                // Another thread may have removed the edge or cancelled this task.
                if path != nil || !dependencies.contains(where: { $0 === dependency }) { return path }
            case .tooLong: steps *= 2
            }
        }
    }

    /// Searches all direct and indirect dependencies for a path from a dependency back to this task.
    private func pathOfCircle(through dependency: AnyTask) -> String? {
        var cameFrom: [ObjectIdentifier: AnyTask] = [:]
        var pending = [dependency]
        while let task = pending.popLast() {
            for next in task.dependencies where cameFrom[ObjectIdentifier(next)] == nil {
                cameFrom[ObjectIdentifier(next)] = task
                if next === self { return path(cameFrom, to: dependency) }
                pending.append(next)
            }
        }
        return nil
    }

    /// Returns the path as text: "a waits for b, b for c, c for a".
    private func path(_ cameFrom: [ObjectIdentifier: AnyTask], to dependency: AnyTask) -> String {
        var tasks = [self]
        var last: AnyTask = self
        while last !== dependency, let previous = cameFrom[ObjectIdentifier(last)] {
            tasks.append(previous)
            last = previous
        }
        tasks.append(self)
        let titles = tasks.reversed().map(\.title)
        // order of the titles: self, dependency, …, self
        return zip(titles, titles.dropFirst()).enumerated()
            .map { $0.offset == 0 ? "\($0.element.0) waits for \($0.element.1)" : "\($0.element.0) for \($0.element.1)" }
            .joined(separator: ", ")
    }
}

/// One search: the tasks whose level must fall, the highest first.
private struct Sinking {
    enum End {
        case fits
        /// The dependent may be one of the dependency's direct or indirect dependencies.
        case circle
        /// The search has reached its limit of steps. Other threads, whose edges are not yet checked, run first.
        case tooLong
    }

    private struct Entry {
        let task: AnyTask
        /// The level that the search found, and the level to which the task must fall.
        let before: Int
        var after: Int
        var isPending = true
    }
    private var entries: [Entry] = []
    /// The dependencies of all entries. They are retained, so that the search releases no task inside the lock.
    private var found: [AnyTask] = []
    private var indices: [ObjectIdentifier: Int] = [:]
    /// The indices of pending entries, as a heap with the highest level first.
    private var heap: [Int] = []

    /// Lowers a dependency, and all its direct and indirect dependencies, below a dependent. Changes levels only if
    /// the whole search succeeds. The caller holds `levelLock`.
    mutating func sink(_ dependency: AnyTask, below dependent: AnyTask, steps: Int) -> End {
        let top = dependent.level.load(ordering: .relaxed)  // relaxed, all: see AnyTask.lower(to:)
        request(dependency, at: top - 1)
        var taken = 0
        while let index = popHighest() {
            let (after, start) = (entries[index].after, found.count)
            entries[index].task.appendDependencies(to: &found)
            taken += 1
            if taken + found.count > steps { return .tooLong }
            for next in start..<found.count {
                if found[next] === dependent { return .circle }
                request(found[next], at: after - 1)
            }
        }
        for entry in entries { entry.task.lower(to: entry.after) }
        return .fits
    }

    private mutating func request(_ task: AnyTask, at level: Int) {
        if let known = indices[ObjectIdentifier(task)] {
            guard entries[known].after > level else { return }
            entries[known].after = level
            // The entry was visited before an edge that is not yet checked led here.
            if !entries[known].isPending { push(known) }
            return
        }
        let before = task.level.load(ordering: .relaxed)
        guard before > level else { return }
        indices[ObjectIdentifier(task)] = entries.count
        entries.append(Entry(task: task, before: before, after: level))
        push(entries.count - 1)
    }

    private mutating func push(_ entry: Int) {
        entries[entry].isPending = true
        var place = heap.count
        heap.append(entry)
        while place > 0, entries[heap[(place - 1) / 2]].before < entries[entry].before {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func popHighest() -> Int? {
        guard let highest = heap.first, let last = heap.popLast() else { return nil }
        entries[highest].isPending = false
        guard !heap.isEmpty else { return highest }
        heap[0] = last
        var place = 0
        while 2 * place + 1 < heap.count {
            var child = 2 * place + 1
            if child + 1 < heap.count, entries[heap[child + 1]].before > entries[heap[child]].before { child += 1 }
            if entries[heap[child]].before <= entries[last].before { break }
            heap.swapAt(place, child)
            place = child
        }
        return highest
    }
}

extension AnyTask {
    /// Lowers the task if it has no dependencies. Returns false if other tasks must be lowered with it.
    fileprivate final func sinkAlone(to level: Int) -> Bool {
        edges.withLock { list in
            guard list.first == nil else { return false }
            lowerHere(to: level)
            return true
        }
    }

    /// Lowers the task. The lock of its edges excludes a thread that raises the level of a task without dependents.
    fileprivate final func lower(to level: Int) { edges.withLock { _ in lowerHere(to: level) } }

    private func lowerHere(to level: Int) {
        // The thread that raised the level may have found a dependent and restored the level.
        if self.level.load(ordering: .relaxed) > level { self.level.store(level, ordering: .relaxed) }
    }

    /// Appends the dependencies to an array, the newest first.
    fileprivate final func appendDependencies(to found: inout [AnyTask]) {
        edges.withLock { list in
            list.forEach { edge in
                if let task = edge.task { found.append(task) }
            }
        }
    }
}
