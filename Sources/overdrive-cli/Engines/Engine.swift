internal import OverdriveCore

/// Something that runs closures, so that the same job can be measured on several.
protocol Engine: Sendable {
    /// The name that `--engine` takes.
    var name: String { get }

    /// How many closures run at the same time while none of them blocks.
    var workerCount: Int { get }

    /// Has `work` run on one of the engine's threads, once, after earlier ones have started.
    func submit(_ work: @escaping @Sendable () -> Void)

    /// Returns when every submitted closure has run, those included that were submitted meanwhile.
    func wait()

    /// Runs a body that may wait for something other than the CPU.
    func blocking<Result>(_ body: () -> Result) -> Result

    /// What the engine counted, one line each.
    var statistics: [(name: String, value: String)] { get }
}

extension Engine {
    func blocking<Result>(_ body: () -> Result) -> Result { body() }

    var statistics: [(name: String, value: String)] { [] }
}

/// The engines, by the name that `--engine` takes.
enum EngineName: String, CaseIterable, Sendable {
    case overdrive, dispatch, serial

    /// More than any machine has CPUs for; a larger number is a slip of the finger.
    static let mostJobs = 1024

    /// Makes the engine.
    ///
    /// - Parameters:
    ///   - jobs: How many closures run at the same time; nil leaves it to the engine.
    ///   - placement: Where Overdrive's workers may run.
    func make(jobs: Int?, placement: Scheduler.Placement) throws(SchedulerError) -> any Engine {
        switch self {
        case .overdrive: try OverdriveEngine(jobs: jobs, placement: placement)
        case .dispatch: DispatchEngine(jobs: jobs)
        case .serial: SerialEngine()
        }
    }
}
