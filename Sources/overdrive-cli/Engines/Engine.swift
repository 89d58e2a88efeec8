internal import OverdriveCore

/// Runs closures. Several engines allow measurements of the same job.
protocol Engine: Sendable {
    /// The name for `--engine`.
    var name: String { get }

    /// The number of closures that run at a time while none blocks.
    var workerCount: Int { get }

    /// Runs `work` once on a thread of the engine, after earlier closures have started.
    func submit(_ work: @escaping @Sendable () -> Void)

    /// Returns when all submitted closures have run, including those submitted during the wait.
    func wait()

    /// Runs a body that may wait for something other than the CPU.
    func blocking<Result>(_ body: () -> Result) -> Result

    /// The counters of the engine.
    var statistics: [(name: String, value: String)] { get }
}

extension Engine {
    func blocking<Result>(_ body: () -> Result) -> Result { body() }

    var statistics: [(name: String, value: String)] { [] }
}

/// The engines, by the name for `--engine`.
enum EngineName: String, CaseIterable, Sendable {
    case overdrive, dispatch, serial

    /// A limit above the number of CPUs of any machine, to detect typing errors.
    static let mostJobs = 1024

    /// Creates the engine.
    ///
    /// - Parameters:
    ///   - jobs: The number of closures that run at a time; nil leaves it to the engine.
    ///   - placement: The placement of Overdrive's workers.
    func make(jobs: Int?, placement: Scheduler.Placement) throws(SchedulerError) -> any Engine {
        switch self {
        case .overdrive: try OverdriveEngine(jobs: jobs, placement: placement)
        case .dispatch: DispatchEngine(jobs: jobs)
        case .serial: SerialEngine()
        }
    }
}
