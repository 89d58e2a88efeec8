internal import CScheduler

extension Scheduler {
    /// Counts of the workers' activity since the start. They are exact while nothing runs, and close otherwise.
    ///
    /// - Cost: Reads some cache lines of each worker.
    public var metrics: Metrics {
        var metrics = od_metrics()
        unsafe od_pool_metrics(handle, &metrics)
        return Metrics(metrics)
    }

    /// Counts over all workers since the scheduler was made.
    public struct Metrics: Sendable, Equatable {
        /// Closures and jobs that ran to their end.
        public let executed: Int
        /// Closures that a cancel or a shutdown kept from running.
        public let cancelled: Int
        /// The executed closures that ran on their submitter because the queue was full, or on a thread that waited
        /// for them.
        public let ranOnCallers: Int
        /// Closures taken from other workers: of the same node, of the nearest other node, farther away.
        public let stolen: [Int]
        /// The steals that moved them, by the same distances.
        public let steals: [Int]
        /// Branches of `join`, `invoke` and loops that ran on another thread than the one that forked them.
        public let stolenForks: Int
        /// Sweeps over all other workers that found nothing.
        public let failedSteals: Int
        /// Closures that came from outside the workers, and the batches they came in.
        public let injectorClosures, injectorBatches: Int
        /// Times a worker went to sleep.
        public let parks: Int
        /// Wakes that found work, and wakes that found none.
        public let usefulWakes, spuriousWakes: Int
        /// Closures that met a suspended or limited queue on their way.
        public let diverted: Int
        /// Times a worker's own queue had to grow.
        public let dequeGrowths: Int
        /// Grace periods of the whole process.
        public let gracePeriods: Int
        /// Threads that were started, and that could not be.
        public let threadsStarted, threadFailures: Int
        /// The most spare workers at once, and how often their cap was reached.
        public let mostSpares, spareCapReached: Int
        /// Refused calls (such as pinning) that were done without.
        public let warnings: Int
        /// The number of workers now, and how many are awake or could be, spare ones included.
        public let workers, active: Int

        init(_ m: od_metrics) {
            executed = Int(m.executed)
            cancelled = Int(m.cancelled)
            ranOnCallers = Int(m.ran_on_callers)
            stolen = [Int(m.stolen.0), Int(m.stolen.1), Int(m.stolen.2)]
            steals = [Int(m.steals.0), Int(m.steals.1), Int(m.steals.2)]
            stolenForks = Int(m.forks_stolen)
            failedSteals = Int(m.failed_steals)
            injectorClosures = Int(m.injector_jobs)
            injectorBatches = Int(m.injector_claims)
            parks = Int(m.parks)
            usefulWakes = Int(m.useful_wakes)
            spuriousWakes = Int(m.spurious_wakes)
            diverted = Int(m.diverted)
            dequeGrowths = Int(m.deque_growths)
            gracePeriods = Int(m.grace_periods)
            threadsStarted = Int(m.threads_started)
            threadFailures = Int(m.thread_failures)
            mostSpares = Int(m.most_spares)
            spareCapReached = Int(m.spare_cap_reached)
            warnings = Int(m.warnings)
            workers = Int(m.workers)
            active = Int(m.active)
        }
    }
}
