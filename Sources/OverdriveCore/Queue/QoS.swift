internal import CScheduler

extension TaskQueue {
    /// How much a closure matters, from the highest to the lowest of five bands.
    ///
    ///     let thumbnails = TaskQueue(qos: .utility)
    ///
    /// - Ordering: A worker takes the highest band that has work. It passes over a lower band that has work at most
    ///   255 times, then serves it once. If all four lower bands are due at once, they follow each other, so the
    ///   bound is 258. The n-th closure of the lowest band therefore waits for at most 258 n closures per worker. A
    ///   drainer does not interrupt the batch that it took from a serial or limited queue: at most 15 more closures,
    ///   of some microseconds together.
    ///
    /// Nothing overtakes in a serial or suspended queue. In a limited queue, at most 15 closures behind a blocked
    /// closure may start later than newer ones. Closures before a closure or `sync` caller of a higher band are
    /// served in that band.
    ///
    /// A blocking waiter raises the awaited work to its band: the closures of a group or queue, the last submission
    /// of a ``WorkItem``, a task. A closure's band is ``current``. The main thread is in `userInteractive`, other
    /// threads are in `default`. On concurrent queues the whole lower band is served as the waiter's band,
    /// alternating with it. An override is not passed on. `await` and semaphores raise nothing, and no wait raises
    /// running closures or closures of a dispatch queue.
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
        ///
        ///     let level = TaskQueue.QoS.current ?? .default
        ///     let passes = level >= .userInitiated ? 1 : 4
        ///
        /// It is the higher of the queue's and the submission's, or what the submission enforced. In a `sync`
        /// it is the higher of the queue's and the caller's. In an asynchronous body, and in Swift's tasks on a scheduler,
        /// it is that of the Swift task's priority. On the main thread, outside of those, it is `userInteractive`.
        public static var current: QoS? {
            let here = QoS(rawValue: od_queue_current_band()) ?? ofTask
            guard let around = DispatchRoute.qosHere else {
                // Whoever submits to the main queue itself passes the route by.
                return here ?? (TaskQueue.isOnMain ? .userInteractive : nil)
            }
            return max(here ?? around, around)  // a sync from one into the other
        }

        /// Of the Swift task that the calling thread runs for a scheduler.
        private static var ofTask: QoS? {
            guard PoolOwner.current != nil else { return nil }
            return unsafe withUnsafeCurrentTask { unsafe $0.map { unsafe QoS($0.priority.rawValue) } }
        }

        /// The priority of a Swift task that matters as much.
        package var taskPriority: TaskPriority {
            switch self {
            case .userInteractive: TaskPriority(rawValue: 33)
            case .userInitiated: .high
            case .default: .medium
            case .utility: .utility
            case .background: .background
            }
        }

        /// What a submission asks for.
        package static func asked(_ qos: QoS?, _ flags: Flags) -> QoS? {
            if flags.contains(.noQoS) { return nil }
            guard flags.contains(.inheritQoS), let current else { return qos }
            return max(current, qos ?? current)
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
