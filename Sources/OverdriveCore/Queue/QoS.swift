internal import CScheduler

extension TaskQueue {
    /// How much a closure matters, from the highest to the lowest of five bands.
    ///
    ///     let thumbnails = TaskQueue(qos: .utility)
    ///
    /// - Ordering: Workers take the highest band that has work. A lower band that has work is passed over
    ///   by each worker at most 255 times, then it is served once: one start of 256 is its, however much
    ///   waits above it. (Where all four lower bands are due at once they follow each other: 258.) So the
    ///   n-th closure of the lowest band waits for 258 n closures of others per worker at most; how long
    ///   that is, is for those closures to say. What a worker has taken of a queue with a line is not
    ///   interrupted: 15 more closures at most, which lasted some microseconds together the last time.
    ///
    /// Nothing overtakes in a serial or suspended queue, and in a limited one only where a closure that has
    /// started blocks: at most 15 behind it may start later than newer ones. What stands before a closure or a
    /// `sync` caller of a higher band is served in that band too, until it is that one's turn.
    ///
    /// Who blocks overrides with its own band that of what it waits for, while it waits: a group's closures, a queue's, a
    /// ``WorkItem``'s last submission, a task. A closure's band is ``current``; the main thread is in
    /// `userInteractive`, other threads are in `default`. On concurrent queues the whole lower band is served
    /// as the waiter's meanwhile, in turns with that one, because what is waited for stands in its line. An
    /// override is not passed on; `await` and semaphores (nobody knows who will signal) override nothing,
    /// and nobody overrides what runs already or goes to a dispatch queue.
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
