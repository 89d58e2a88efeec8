extension TaskQueue {
    /// How a submission differs from a plain one.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Waits for everything submitted to a concurrent queue before, and holds back everything after.
        public static let barrier = Flags(rawValue: 1)
        /// The submission's own quality of service counts, even where the queue's is higher.
        public static let enforceQoS = Flags(rawValue: 2)
        /// The submission's quality of service is at least that of who submits it.
        public static let inheritQoS = Flags(rawValue: 4)
        /// The submission takes nothing over from who submits it.
        public static let detached = Flags(rawValue: 8)
    }
}
