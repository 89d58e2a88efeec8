internal import OverdriveCore

/// Runs closures with Overdrive: a concurrent queue and a group.
final class OverdriveEngine: Engine {
    let name = EngineName.overdrive.rawValue

    private let scheduler: Scheduler
    private let queue: TaskQueue
    private let group = WaitGroup()

    /// - Parameters:
    ///   - jobs: The number of closures that run at a time; nil follows the machine.
    ///   - placement: The placement of the workers, if `jobs` is given.
    /// - Throws: `SchedulerError` if the scheduler cannot be created.
    init(jobs: Int?, placement: Scheduler.Placement) throws(SchedulerError) {
        scheduler = if let jobs { try Scheduler(workers: jobs, placement: placement) } else { .shared }
        queue = .concurrent(label: "checksum", scheduler: scheduler)
    }

    var workerCount: Int { scheduler.workerCount }

    func submit(_ work: @escaping @Sendable () -> Void) {
        queue.async(group: group, execute: work)
    }

    func wait() {
        group.wait()
    }

    func blocking<Result>(_ body: () -> Result) -> Result {
        OverdriveCore.blocking(body)
    }

    var statistics: [(name: String, value: String)] {
        let metrics = scheduler.metrics
        func text(_ counts: [Int]) -> String { counts.map(Quantity.count).joined(separator: " + ") }
        return [
            ("closures", Quantity.count(metrics.executed)),
            (
                "from outside",
                "\(Quantity.count(metrics.injectorClosures)) in \(Quantity.count(metrics.injectorBatches)) batches"
            ),
            ("stolen", "\(text(metrics.stolen)) in \(text(metrics.steals)) steals (node + next + farther)"),
            ("fruitless searches", Quantity.count(metrics.failedSteals)),
            ("sleeps", Quantity.count(metrics.parks)),
            (
                "wakes",
                "\(Quantity.count(metrics.usefulWakes)) useful, \(Quantity.count(metrics.spuriousWakes)) not"
            ),
            ("threads", "\(metrics.threadsStarted) started, \(metrics.threadFailures) refused"),
            ("spare workers", "\(metrics.mostSpares) at most"),
            ("ran on submitters", Quantity.count(metrics.ranOnCallers)),
            ("grace periods", Quantity.count(metrics.gracePeriods)),
            ("warnings", Quantity.count(metrics.warnings)),
        ]
    }
}
