// Owns the bridge from a scheduler's counters to swift-metrics. Programs create it and run its reports. It never
// changes a scheduler.

#if Metrics
public import Metrics
public import OverdriveCore

/// Reports a scheduler's activity as metrics of swift-metrics, to any bootstrapped backend.
///
///     MetricsSystem.bootstrap(backend)
///     let metrics = SchedulerMetrics(of: .shared)
///     async let reporting: Void = metrics.run(every: .seconds(10))
///
/// Each metric has the dimension `scheduler`, with the scheduler's name. Meters give the current state:
/// `overdrive.workers`, `overdrive.workers.active`, `overdrive.spares.most`. Counters start at the creation of this
/// object:
///
/// - `overdrive.closures.executed`, `.cancelled`, `.stolen`, `.outside` (from external threads) and `.callers` (run
///   on a submitter or waiter)
/// - `overdrive.parks`, `overdrive.wakes.useful` and `.spurious`
/// - `overdrive.steals.failed`, `overdrive.forks.stolen`
/// - `overdrive.threads.started` and `.failed`, `overdrive.spares.capped`, `overdrive.warnings`
///
/// - Threading: Any thread.
/// - Cost: None between two reports, since the scheduler counts anyway.
public final class SchedulerMetrics: Sendable {
    private typealias Counts = Scheduler.Metrics

    private let scheduler: Scheduler
    private let meters: [(Meter, @Sendable (Counts) -> Int)]
    private let counters: [(Counter, @Sendable (Counts) -> Int)]
    /// The values of the last report. Only one report at a time holds the lock.
    private let last: Locked<Counts>

    /// Creates metrics of a scheduler, and retains the scheduler.
    ///
    /// - Parameters:
    ///   - scheduler: The scheduler to report; counters start with its activity from now on.
    ///   - prefix: The prefix of all metric names, instead of `overdrive`.
    ///   - dimensions: Further dimensions of each metric.
    ///   - factory: The backend; by default the bootstrapped one.
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

    /// Sets the meters, and increments the counters by their growth since the last report.
    ///
    /// - Ordering: None relative to the scheduler's work.
    /// - Threading: Any thread; concurrent reports run one after another. A backend must not call this function
    ///   during a report, because it would wait for itself.
    /// - Cost: Some cache lines of each worker, and the backend's cost for 17 metrics.
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

    /// Reports immediately and then periodically until its task is cancelled, and once more at the end.
    ///
    ///     try await withThrowingTaskGroup(of: Void.self) { group in
    ///         group.addTask { await metrics.run() }
    ///         try await server.run()
    ///         group.cancelAll()
    ///     }
    ///
    /// - Parameter interval: The time between two reports.
    public func run(every interval: Duration = .seconds(10)) async {
        repeat { report() } while (try? await Task.sleep(for: interval)) != nil
        report()
    }
}
#endif
