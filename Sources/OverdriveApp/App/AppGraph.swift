// Owns the tasks of an app and their dependencies. `AppTasks` makes it, and the end of the app reads it. It never
// starts a task.

internal import Overdrive
internal import Synchronization

/// The tasks of an app and their dependencies.
///
/// It copies the dependencies at the time of the boot. A finished task releases its dependencies, but the shutdown
/// needs them.
struct AppGraph: Sendable {
    let tasks: [AppTask]
    /// The names of the providers, and the index of the provider of each task.
    private let providerNames: [String]
    private let providers: [Int32]
    /// The dependencies of task `i` are `edges[offsets[i]..<offsets[i + 1]]`.
    private let offsets: [Int]
    private let edges: [Int]

    /// Collects the tasks of the providers and numbers them.
    ///
    /// A dependency that no provider lists is added together with its dependent.
    init(of providers: [any ServiceProvider]) throws(AppError) {
        var (tasks, listedBy): ([AppTask], [Int32]) = ([], [])
        var names: [String] = []
        for provider in providers {
            let name = "\(type(of: provider))"
            let listed: [AppTask]
            do { listed = try provider.appTasks } catch {
                throw .providerFailed(provider: name, reason: "\(error)")
            }
            for (number, task) in listed.enumerated() { try AppGraph.claim(task, as: tasks.count + number) }
            tasks += listed
            listedBy += repeatElement(Int32(names.count), count: listed.count)
            names.append(name)
        }
        var (offsets, edges): ([Int], [Int]) = ([0], [])
        offsets.reserveCapacity(tasks.count + 1)
        edges.reserveCapacity(tasks.count)
        var index = 0
        while index < tasks.count {
            var isMixed = false
            for dependency in tasks[index].dependencies {
                // Most dependencies are tasks of this app, and are numbered already.
                if let dependency = dependency as? AppTask, AppGraph.has(dependency, among: tasks) {
                    edges.append(dependency.index - 1)
                    continue
                }
                isMixed = true
                try AppGraph.visit(dependency) { dependency throws(AppError) in
                    if dependency.index == 0 {
                        try AppGraph.claim(dependency, as: tasks.count)
                        tasks.append(dependency)
                        listedBy.append(listedBy[index])
                    }
                    // A task of another app is a dependency like any other task, but that app stops it.
                    if AppGraph.has(dependency, among: tasks) { edges.append(dependency.index - 1) }
                }
            }
            if isMixed {
                // Several paths may lead to one task.
                var seen: Set<Int> = []
                let own = edges[offsets[index]...].filter { seen.insert($0).inserted }
                edges.replaceSubrange(offsets[index]..., with: own)
            }
            offsets.append(edges.count)
            index += 1
        }
        (self.tasks, self.providers, providerNames, self.offsets, self.edges) = (tasks, listedBy, names, offsets, edges)
    }

    /// Numbers start at 1; a task without an app has number 0.
    private static func claim(_ task: AppTask, as index: Int) throws(AppError) {
        guard task.index == 0 else { throw .addedTwice(task: task.title) }
        guard task.state == .initialized else { throw .startedBefore(task: task.title) }
        task.index = index + 1
    }

    private static func has(_ task: AppTask, among tasks: [AppTask]) -> Bool {
        task.index > 0 && task.index <= tasks.count && tasks[task.index - 1] === task
    }

    /// Calls `body` with the app tasks that a dependency represents. This is the dependency or, for another kind of
    /// task, the app tasks that it waits for.
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

    func provider(of index: Int) -> String { providerNames[Int(providers[index])] }

    func dependencies(of index: Int) -> ArraySlice<Int> { edges[offsets[index]..<offsets[index + 1]] }
}
