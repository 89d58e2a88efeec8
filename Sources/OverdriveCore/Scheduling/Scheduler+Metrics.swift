// Owns the public counters of a scheduler. Programs and OverdriveMetrics read them. Reading never stops a worker.

internal import CScheduler

extension Scheduler {
    /// Counters of all workers since the start. They are exact while no closure runs, and approximate otherwise.
    ///
    /// - Cost: Reads some cache lines of each worker.
    public var metrics: Metrics {
        var metrics = od_metrics()
        unsafe od_pool_metrics(handle, &metrics)
        return Metrics(metrics)
    }

    /// Counters over all workers since the creation of the scheduler.
    public struct Metrics: Sendable, Equatable {
        /// Closures and jobs that ran to their end.
        public let executed: Int
        /// Closures that never ran because of a cancellation or a shutdown.
        public let cancelled: Int
        /// The executed closures that ran on their submitter because of a full queue, or on a thread that waited for
        /// them.
        public let ranOnCallers: Int
        /// Stolen closures by distance of the victim: same node, nearest other node, farther nodes.
        public let stolen: [Int]
        /// Steal operations by the same distances; one operation may move several closures.
        public let steals: [Int]
        /// Branches of `join`, `invoke` and loops that ran on a different thread from the one that forked them.
        public let stolenForks: Int
        /// Searches through all other workers that found no work.
        public let failedSteals: Int
        /// Closures from external threads, and the number of batches in which workers took them.
        public let injectorClosures, injectorBatches: Int
        /// The number of times that a worker went to sleep.
        public let parks: Int
        /// Wakes after which the worker found work, and wakes after which it found none.
        public let usefulWakes, spuriousWakes: Int
        /// Closures that went through the wait queue of a suspended or limited queue.
        public let diverted: Int
        /// The number of times that a worker's deque grew.
        public let dequeGrowths: Int
        /// RCU grace periods of the whole process.
        public let gracePeriods: Int
        /// Threads that were started, and thread starts that failed.
        public let threadsStarted, threadFailures: Int
        /// The maximum number of spares at once, and the number of times that their limit was reached.
        public let mostSpares, spareCapReached: Int
        /// Refused system calls (such as pinning) without which the scheduler continued.
        public let warnings: Int
        /// The current number of workers, and of workers that are or may be awake, spares included.
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
