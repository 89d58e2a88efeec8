// Owns the picture of an app's boot. Programs call it. It never changes the report.

internal import Overdrive

extension AppReport {
    /// The boot as an SVG picture. It has a bar for each task over time, and arrows to the dependents. The critical
    /// path is red; waits for a worker are grey.
    ///
    /// With more than 200 tasks, the picture shows the 200 slowest ones and the critical path.
    public var picture: String {
        let title = bootTime.map { "The boot: \(tasks.count) tasks, \(ReportText.time($0))" } ?? "The boot: \(tasks.count) tasks, not finished"
        return RunTimeline(title: title, bars: tasks.map { task in
            RunTimeline.Bar(
                name: task.task, dependencies: task.dependencies, ready: task.ready, started: task.started, ended: task.ended,
                isCritical: task.isCritical, isFailed: task.outcome == .failed, note: task.outcome.rawValue)
        }).svg()
    }
}
