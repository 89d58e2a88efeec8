internal import Overdrive
internal import Synchronization

/// The tasks of an app, and which waits for which.
///
/// The edges are those at the time of the boot: a task that is over knows its dependencies no more, and the end needs
/// them.
struct AppGraph: Sendable {
    let tasks: [AppTask]
    /// The providers' names, and which of them has listed each task.
    private let providerNames: [String]
    private let providers: [Int32]
    /// The dependencies of task `i` are `edges[offsets[i]..<offsets[i + 1]]`.
    private let offsets: [Int]
    private let edges: [Int]

    /// Asks the providers for their tasks, and gives each task its number.
    ///
    /// A dependency that no provider lists comes along with the task that waits for it.
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
                // Most are the app's own, and one by one.
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
                    // Another app's is waited for like any task, and that app's to stop.
                    if AppGraph.has(dependency, among: tasks) { edges.append(dependency.index - 1) }
                }
            }
            if isMixed {
                // Several ways may lead to one task.
                var seen: Set<Int> = []
                let own = edges[offsets[index]...].filter { seen.insert($0).inserted }
                edges.replaceSubrange(offsets[index]..., with: own)
            }
            offsets.append(edges.count)
            index += 1
        }
        (self.tasks, self.providers, providerNames, self.offsets, self.edges) = (tasks, listedBy, names, offsets, edges)
    }

    /// Numbers count from 1: 0 is a task of no app.
    private static func claim(_ task: AppTask, as index: Int) throws(AppError) {
        guard task.index == 0 else { throw .addedTwice(task: task.title) }
        guard task.state == .initialized else { throw .startedBefore(task: task.title) }
        task.index = index + 1
    }

    private static func has(_ task: AppTask, among tasks: [AppTask]) -> Bool {
        task.index > 0 && task.index <= tasks.count && tasks[task.index - 1] === task
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

    func provider(of index: Int) -> String { providerNames[Int(providers[index])] }

    func dependencies(of index: Int) -> ArraySlice<Int> { edges[offsets[index]..<offsets[index + 1]] }
}
