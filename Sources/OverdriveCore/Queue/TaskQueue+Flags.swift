// Owns the flags of a submission. Programs pass them to `async` and `sync`. The raw values equal those of Dispatch.

extension TaskQueue {
    /// Options of a submission.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Makes the closure a barrier: it waits for all earlier closures, runs alone, and delays all later ones.
        ///
        ///     cache.async(flags: .barrier) { entries[key] = value }
        ///
        /// - Ordering: Exact for submitted closures. A task that waits for its dependencies is not submitted yet, and
        ///   does not delay the barrier. The same holds for a suspended asynchronous body on an unlimited queue. A
        ///   running `sync` counts as submitted before. A `sync` from a closure of the queue runs, because the
        ///   barrier waits for that closure.
        /// - Cost: From the first barrier on, each closure of the queue takes a short critical section. The flag has
        ///   no effect on the shared queues ``TaskQueue/global(qos:)`` and ``TaskQueue/background``.
        public static let barrier = Flags(rawValue: 1)
        /// Applies the quality of service of the submission even if the queue has a higher one.
        public static let enforceQoS = Flags(rawValue: 32)
        /// Raises the quality of service of the submission to that of the submitter.
        public static let inheritQoS = Flags(rawValue: 16)
        /// Takes no property, such as quality of service, from the submitter.
        public static let detached = Flags(rawValue: 2)
        /// Applies the quality of service of the queue, and ignores those of submission and submitter.
        public static let noQoS = Flags(rawValue: 8)
    }
}
