internal import CScheduler

extension TaskQueue {
    /// How much a closure matters, from the highest to the lowest of five bands.
    ///
    ///     let thumbnails = TaskQueue(qos: .utility)
    ///
    /// - Ordering: Workers take the highest band that has work. A lower band that has work is passed over
    ///   at most 255 times by each worker, 258 where all four lower ones are due, then it is served once. Who waits
    ///   for a group or a queue, or is in `sync`, lends its band to what is before it.
    public enum QoS: Int32, Sendable, CaseIterable, Comparable {
        /// Somebody is watching this very moment.
        case userInteractive = 0
        /// Somebody waits for the result.
        case userInitiated = 1
        /// Everything else.
        case `default` = 2
        /// Progress that may take a while.
        case utility = 3
        /// Nobody will notice when it happens.
        case background = 4

        /// A higher quality of service is greater.
        public static func < (a: QoS, b: QoS) -> Bool {
            a.rawValue > b.rawValue
        }

        /// The band of the closure that runs on the calling thread, or nil where none does.
        public static var current: QoS? {
            QoS(rawValue: od_pool_current_band())
        }

        var band: od_band {
            od_band(UInt32(rawValue))
        }

        /// Swift Concurrency's priorities, which are any number from 0 to 255.
        init(_ priority: UInt8) {
            switch priority {
            case 33...: self = .userInteractive
            case 25...: self = .userInitiated
            case 21...: self = .default
            case 17...: self = .utility
            case 1...: self = .background
            default: self = .default
            }
        }
    }
}
