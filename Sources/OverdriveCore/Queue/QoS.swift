// Owns the five quality-of-service classes and their conversions. Programs and every submission use it. It never
// changes the priority of a kernel thread.

internal import CScheduler

extension TaskQueue {
    /// The quality of service of a closure: one of five bands, from highest to lowest.
    ///
    ///     let thumbnails = TaskQueue(qos: .utility)
    ///
    /// - Ordering: A worker takes the highest band that has work. It passes over a lower band with work at most 255
    ///   times, and then serves it once. If all four lower bands are due at once, they follow each other, so the
    ///   bound is 258. The n-th closure of the lowest band therefore waits for at most 258 n closures per worker. A
    ///   drainer does not interrupt its drain batch of a serial or limited queue: at most 15 more closures, which
    ///   take some microseconds together.
    ///
    /// Closures of a serial or suspended queue never overtake each other. In a limited queue, at most 15 closures
    /// behind a blocked closure may start later than newer ones. Closures in front of a closure or `sync` caller of a
    /// higher band run in that band.
    ///
    /// A blocking waiter raises the awaited work to its own band. The awaited work is a task, the closures of a group or
    /// queue, or the last submission of a ``WorkItem``. The band of a waiter in a closure is ``current``. The main thread
    /// waits in `userInteractive`, other threads in `default`. On a concurrent queue, workers alternate between the
    /// waiter's band and the whole lower band. A raise does not extend to further waits. `await` and semaphores raise
    /// nothing. No wait raises running closures, or closures of a dispatch queue.
    public enum QoS: Int32, Sendable, CaseIterable, Comparable {
        /// For work that a user sees immediately, such as drawing.
        case userInteractive = 0
        /// For work whose result a user waits for.
        case userInitiated = 1
        /// For all other work.
        case `default` = 2
        /// For long-running work, such as an import.
        case utility = 3
        /// For work that no user notices, such as cleaning up.
        case background = 4

        /// Returns whether `a` is lower than `b`.
        public static func < (a: QoS, b: QoS) -> Bool {
            a.rawValue > b.rawValue
        }

        /// The band of the closure that runs on the calling thread, or nil if no closure runs there.
        ///
        ///     let level = TaskQueue.QoS.current ?? .default
        ///     let passes = level >= .userInitiated ? 1 : 4
        ///
        /// In a closure, the band is the higher one of queue and submission, or the enforced band of the submission.
        /// In a `sync` closure, it is the higher one of queue and caller. In an asynchronous body, and in a Swift
        /// task on a scheduler, it follows the priority of the Swift task. Elsewhere on the main thread, it is
        /// `userInteractive`.
        public static var current: QoS? {
            let here = QoS(rawValue: od_queue_current_band()) ?? ofTask
            guard let around = DispatchRoute.qosHere else {
                // Code that was submitted directly to the main dispatch queue has no route frame.
                return here ?? (TaskQueue.isOnMain ? .userInteractive : nil)
            }
            return max(here ?? around, around)  // a closure of one kind of queue calls `sync` on the other kind
        }

        /// The band of the Swift task that the calling thread runs for a scheduler.
        private static var ofTask: QoS? {
            guard PoolOwner.current != nil else { return nil }
            return unsafe withUnsafeCurrentTask { unsafe $0.map { unsafe QoS($0.priority.rawValue) } }
        }

        /// The Swift task priority that corresponds to this band.
        package var taskPriority: TaskPriority {
            switch self {
            case .userInteractive: TaskPriority(rawValue: 33)
            case .userInitiated: .high
            case .default: .medium
            case .utility: .utility
            case .background: .background
            }
        }

        /// Returns the band that a submission requests, or nil for the band of the queue.
        package static func asked(_ qos: QoS?, _ flags: Flags) -> QoS? {
            if flags.contains(.noQoS) { return nil }
            guard flags.contains(.inheritQoS), let current else { return qos }
            return max(current, qos ?? current)
        }

        var band: od_band {
            od_band(UInt32(rawValue))
        }

        /// Converts a Swift task priority, 0 to 255, to a band.
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
