extension TaskQueue {
    /// How a submission differs from a plain one.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Waits for everything submitted to the queue before, runs alone, and holds back everything after.
        ///
        ///     cache.async(flags: .barrier) { entries[key] = value }
        ///
        /// - Ordering: Exact for submitted closures. A task that waits for its dependencies is not submitted yet, and
        ///   does not delay the barrier. The same holds for a suspended asynchronous body on an unlimited queue. A
        ///   `sync` under way counts as submitted before. A `sync` from a closure of the queue runs, because the
        ///   barrier waits for that closure.
        /// - Cost: From the first barrier on, each of the queue's closures takes a short critical section. On
        ///   ``TaskQueue/global(qos:)`` and ``TaskQueue/background``, which are everybody's, it has no effect.
        public static let barrier = Flags(rawValue: 1)
        /// The submission's own quality of service counts, even where the queue's is higher.
        public static let enforceQoS = Flags(rawValue: 32)
        /// The submission's quality of service is at least that of who submits it.
        public static let inheritQoS = Flags(rawValue: 16)
        /// The submission takes nothing over from who submits it.
        public static let detached = Flags(rawValue: 2)
        /// The submission has the queue's quality of service, whatever it was given or its submitter has.
        public static let noQoS = Flags(rawValue: 8)
    }
}
