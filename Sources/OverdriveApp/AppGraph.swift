internal import Overdrive
internal import Synchronization

/// The tasks of an app, and which waits for which.
///
/// The edges are those at the time of the boot: a task that is over knows its dependencies no more, and the end needs
/// them.
struct AppGraph: Sendable {
    let tasks: [AppTask]
    /// The provider of each task.
    let providers: [String]
    /// The dependencies of task `i` are `edges[offsets[i]..<offsets[i + 1]]`.
    private let offsets: [Int]
    private let edges: [Int]

    /// Asks the providers for their tasks, and gives each task its number.
    ///
    /// A dependency that no provider lists comes along with the task that waits for it.
    init(of providers: [any ServiceProvider]) throws(AppError) {
        var (tasks, names): ([AppTask], [String]) = ([], [])
        for provider in providers {
            let name = "\(type(of: provider))"
            let listed: [AppTask]
            do { listed = try provider.appTasks } catch {
                throw .providerFailed(provider: name, reason: "\(error)")
            }
            for task in listed {
                try AppGraph.claim(task, as: tasks.count)
                tasks.append(task)
                names.append(name)
            }
        }
        var (offsets, edges): ([Int], [Int]) = ([0], [])
        offsets.reserveCapacity(tasks.count + 1)
        var index = 0
        while index < tasks.count {
            for dependency in tasks[index].dependencies {
                try AppGraph.visit(dependency) { dependency throws(AppError) in
                    if dependency.index == 0 {
                        try AppGraph.claim(dependency, as: tasks.count)
                        tasks.append(dependency)
                        names.append(names[index])
                    }
                    edges.append(dependency.index - 1)
                }
            }
            offsets.append(edges.count)
            index += 1
        }
        (self.tasks, self.providers, self.offsets, self.edges) = (tasks, names, offsets, edges)
    }

    /// Numbers count from 1: 0 is a task of no app.
    private static func claim(_ task: AppTask, as index: Int) throws(AppError) {
        guard task.index == 0 else { throw .addedTwice(task: task.title) }
        guard task.state == .initialized else { throw .startedBefore(task: task.title) }
        task.index = index + 1
    }

    /// The tasks of the app that a dependency stands for: itself, or those that a task of another kind waits for.
    private static func visit(_ task: AnyTask, _ body: (AppTask) throws(AppError) -> Void) throws(AppError) {
        if let task = task as? AppTask { return try body(task) }
        var seen: Set<ObjectIdentifier> = []
        var pending = task.dependencies
        while let next = pending.popLast() {
            if let next = next as? AppTask {
                try body(next)
            } else if seen.insert(ObjectIdentifier(next)).inserted {
                pending += next.dependencies
            }
        }
    }

    func dependencies(of index: Int) -> ArraySlice<Int> { edges[offsets[index]..<offsets[index + 1]] }
}
