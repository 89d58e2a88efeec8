#if Metrics
public import Metrics
public import OverdriveCore

/// A scheduler's activity as metrics of swift-metrics, for any backend that the program has bootstrapped.
///
///     MetricsSystem.bootstrap(backend)
///     let metrics = SchedulerMetrics(of: .shared)
///     async let reporting: Void = metrics.run(every: .seconds(10))
///
/// Each metric has the dimension `scheduler`, the scheduler's name. Meters say how it is: `overdrive.workers`,
/// `overdrive.workers.active`, `overdrive.spares.most`. Counters say what it did since this object was made:
/// `overdrive.closures.executed`, `.cancelled`, `.stolen`, `.outside` and `.callers` (ran on who submitted or waited),
/// `overdrive.parks`, `overdrive.wakes.useful` and `.spurious`, `overdrive.steals.failed`, `overdrive.forks.stolen`,
/// `overdrive.threads.started` and `.failed`, `overdrive.spares.capped`, `overdrive.warnings`.
///
/// - Threading: Safe from any thread.
/// - Cost: Nothing between two reports: the scheduler's own counts are read.
public final class SchedulerMetrics: Sendable {
    private typealias Counts = Scheduler.Metrics

    private let scheduler: Scheduler
    private let meters: [(Meter, @Sendable (Counts) -> Int)]
    private let counters: [(Counter, @Sendable (Counts) -> Int)]
    /// What was reported last. One report at a time has it.
    private let last: Locked<Counts>

    /// Metrics of a scheduler, which this keeps.
    ///
    /// - Parameters:
    ///   - scheduler: Whose; the counters begin with what it does from now on.
    ///   - prefix: What all names begin with, in place of `overdrive`.
    ///   - dimensions: What each metric has besides `scheduler`.
    ///   - factory: The backend; the bootstrapped one by default.
    public init(
        of scheduler: Scheduler = .shared, prefix: String = "overdrive", dimensions: [(String, String)] = [],
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        self.scheduler = scheduler
        let dimensions = [("scheduler", scheduler.name)] + dimensions
        func meter(_ name: String, _ read: @escaping @Sendable (Counts) -> Int) -> (Meter, @Sendable (Counts) -> Int) {
            (Meter(label: "\(prefix).\(name)", dimensions: dimensions, factory: factory), read)
        }
        func counter(_ name: String, _ read: @escaping @Sendable (Counts) -> Int) -> (Counter, @Sendable (Counts) -> Int) {
            (Counter(label: "\(prefix).\(name)", dimensions: dimensions, factory: factory), read)
        }
        meters = [
            meter("workers") { $0.workers },
            meter("workers.active") { $0.active },
            meter("spares.most") { $0.mostSpares },
        ]
        counters = [
            counter("closures.executed") { $0.executed },
            counter("closures.cancelled") { $0.cancelled },
            counter("closures.stolen") { $0.stolen.reduce(0, +) },
            counter("closures.outside") { $0.injectorClosures },
            counter("closures.callers") { $0.ranOnCallers },
            counter("parks") { $0.parks },
            counter("wakes.useful") { $0.usefulWakes },
            counter("wakes.spurious") { $0.spuriousWakes },
            counter("steals.failed") { $0.failedSteals },
            counter("forks.stolen") { $0.stolenForks },
            counter("threads.started") { $0.threadsStarted },
            counter("threads.failed") { $0.threadFailures },
            counter("spares.capped") { $0.spareCapReached },
            counter("warnings") { $0.warnings },
        ]
        last = Locked(scheduler.metrics)
    }

    /// Sets the meters, and increments the counters by what has come since the report before.
    ///
    /// - Ordering: None relative to the scheduler's work.
    /// - Threading: Any thread; reports of several threads are one after the other. A backend that calls this from inside
    ///   a report waits for itself.
    /// - Cost: Some cache lines of each worker, and the backend's for 17 metrics.
    public func report() {
        last.withLock { last in
            let now = scheduler.metrics
            for (meter, read) in meters { meter.set(read(now)) }
            for (counter, read) in counters {
                let growth = read(now) - read(last)
                if growth > 0 { counter.increment(by: growth) }
            }
            last = now
        }
    }

    /// Reports again and again, at once for the first time, until its task is cancelled; then once more.
    ///
    ///     try await withThrowingTaskGroup(of: Void.self) { group in
    ///         group.addTask { await metrics.run() }
    ///         try await server.run()
    ///         group.cancelAll()
    ///     }
    ///
    /// - Parameter interval: How long between two reports.
    public func run(every interval: Duration = .seconds(10)) async {
        repeat { report() } while (try? await Task.sleep(for: interval)) != nil
        report()
    }
}
#endif
