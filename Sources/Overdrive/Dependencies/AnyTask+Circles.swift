internal import OverdriveCore
internal import Synchronization

// Finds circles of tasks that wait for one another, as edges are added. Each task has a level above the levels of all
// tasks for which it waits. An edge from a higher to a lower level closes no circle. Any other edge sinks the dependency,
// and the tasks below it, until the levels fit again or the search meets the dependent. A removed edge changes no level.

extension AnyTask {
    /// Excludes threads that add dependencies to tasks with dependents. Lock order: before the lock of a task's edges.
    private static let levelLock = Locked<UInt8>(0)

    /// Raises the task's level above a dependency's, unless a dependent comes meanwhile: then ``circleClosed(by:)`` compares.
    ///
    /// The caller has the lock of the list, and has announced itself to the dependency. So the dependency's level only falls
    /// from now on.
    @inline(__always)
    final func rising(above dependency: AnyTask, _ step: () -> TaskState.Step) -> TaskState.Step {
        // relaxed, all of them: the exchange of the word, or the lock of the list, hands the level over
        let before = level.load(ordering: .relaxed)
        let needed = dependency.level.load(ordering: .relaxed) + 1
        guard needed > before, !standing.hasDependents else { return step() }
        // Before the step: a thread that sees the dependency with its dependent sees this level.
        level.store(needed, ordering: .relaxed)
        let taken = step()
        if taken.state.hasDependents { level.store(before, ordering: .relaxed) }
        return taken
    }

    /// The path of the circle that the edge to a dependency closes, if it does: "a wait for b, b for a". The edge is in the list.
    ///
    /// If several threads close a circle at once, the last one in the lock finds the edges of all others.
    final func circleClosed(by dependency: AnyTask) -> String? {
        let fits = AnyTask.levelLock.withLock { _ in
            let top = level.load(ordering: .relaxed)  // relaxed, both: see rising(above:_:)
            // Most dependencies wait for nothing yet.
            return dependency.level.load(ordering: .relaxed) < top || dependency.sinkAlone(to: top - 1)
        }
        return fits ? nil : searchCircle(through: dependency)
    }

    /// The search, which may be long. See ``circleClosed(by:)``.
    private func searchCircle(through dependency: AnyTask) -> String? {
        var steps = 4096
        while true {
            // Released without the lock: the last reference to a task runs code of the program's.
            var sinking = Sinking()
            let end = AnyTask.levelLock.withLock { _ in sinking.sink(dependency, below: self, steps: steps) }
            withExtendedLifetime(sinking) {}
            switch end {
            case .fits: return nil
            case .circle:
                let path = pathOfCircle(through: dependency)
                // Another thread may have removed the edge, or have cancelled this task.
                if path != nil || !dependencies.contains(where: { $0 === dependency }) { return path }
            case .tooLong: steps *= 2
            }
        }
    }

    /// The way from a dependency back to this task, searched for among all tasks for which the dependency waits.
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

    /// "a wait for b, b for c, c for a".
    private func path(_ cameFrom: [ObjectIdentifier: AnyTask], to dependency: AnyTask) -> String {
        var tasks = [self]
        var last: AnyTask = self
        while last !== dependency, let previous = cameFrom[ObjectIdentifier(last)] {
            tasks.append(previous)
            last = previous
        }
        tasks.append(self)
        let titles = tasks.reversed().map(\.title)
        // titles: self, dependency, …, self
        return zip(titles, titles.dropFirst()).enumerated()
            .map { $0.offset == 0 ? "\($0.element.0) wait for \($0.element.1)" : "\($0.element.0) for \($0.element.1)" }
            .joined(separator: ", ")
    }
}

/// One search: the tasks that have to sink, the highest first.
private struct Sinking {
    enum End {
        case fits
        /// The dependent may be among the tasks for which its dependency waits.
        case circle
        /// The search has taken its number of steps. Other threads, whose edges are not checked yet, go first.
        case tooLong
    }

    private struct Entry {
        let task: AnyTask
        /// The level that the search found, and the level to which the task has to sink.
        let before: Int
        var after: Int
        var isPending = true
    }
    private var entries: [Entry] = []
    /// Dependencies of all entries. Another thread may remove their edges: the search releases no task inside the lock.
    private var found: [AnyTask] = []
    private var indices: [ObjectIdentifier: Int] = [:]
    /// Indices of pending entries: a heap, the highest level first.
    private var heap: [Int] = []

    /// Sinks a dependency, and all tasks for which it waits, below a dependent. Changes no level unless all of them sink. The
    /// caller has the lock of levels.
    mutating func sink(_ dependency: AnyTask, below dependent: AnyTask, steps: Int) -> End {
        let top = dependent.level.load(ordering: .relaxed)  // relaxed, all of them: see AnyTask.lower(to:)
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
            // It was looked at before an edge that is not checked yet led here.
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
    /// Sinks the task if it waits for nothing. False: other tasks have to sink with it.
    fileprivate final func sinkAlone(to level: Int) -> Bool {
        edges.withLock { list in
            guard unsafe list.first == nil else { return false }
            lowerHere(to: level)
            return true
        }
    }

    /// Sinks the task. The lock of its edges excludes the thread that raises the level of a task without dependents.
    fileprivate final func lower(to level: Int) { edges.withLock { _ in lowerHere(to: level) } }

    private func lowerHere(to level: Int) {
        // The thread that raised it may have found a dependent, and taken the level back.
        if self.level.load(ordering: .relaxed) > level { self.level.store(level, ordering: .relaxed) }
    }

    /// Adds the dependencies to an array, the newest first.
    fileprivate final func appendDependencies(to found: inout [AnyTask]) {
        edges.withLock { list in
            list.forEach { edge in
                if let task = edge.task { found.append(task) }
            }
        }
    }
}
