internal import CScheduler

extension TaskQueue {
    /// Submits closures together: they are counted once, queued at once, and one worker is woken for all.
    ///
    ///     queue.asyncBatch(group: group) { batch in
    ///         for tile in tiles { batch.async { render(tile) } }
    ///     }
    ///
    /// - Parameters:
    ///   - group: Counts each closure until it is done or cancelled.
    ///   - qos: Raises the closures above the queue's own quality of service.
    ///   - fill: Adds the closures. If it throws, what it had added is submitted all the same.
    /// - Returns: What `fill` returns.
    /// - Throws: What `fill` throws.
    /// - Ordering: As if ``async(group:qos:flags:execute:)`` were called for each closure in order when `fill`
    ///   returns. After 256 closures, the next addition submits these 256. A batch that is opened inside another
    ///   batch's `fill` is submitted before the rest of the outer one.
    /// - Threading: Any thread. Traps if `fill` exchanged the batch for another one. A pending limit applies to each
    ///   closure separately.
    /// - Cost: One allocation of 4 KiB. 256 closures take one locked instruction to count them, and one critical
    ///   section of a serial or limited queue. A concurrent queue takes one more per closure if submitted to from
    ///   outside.
    public func asyncBatch<R, E: Error>(
        group: WaitGroup? = nil, qos: QoS? = nil, _ fill: (inout Batch) throws(E) -> R
    ) throws(E) -> R {
        let outcome: Result<R, E> = unsafe withUnsafeTemporaryAllocation(
            byteCount: Int(OD_BATCH_BYTES), alignment: 16
        ) { room in
            var batch = unsafe Batch(of: self, group: group, qos: qos, in: room)
            let outcome: Result<R, E>
            do throws(E) { outcome = .success(try fill(&batch)) } catch { outcome = .failure(error) }
            unsafe batch.submit(madeIn: room)
            return outcome
        }
        return try outcome.get()
    }

    /// The same for a fill that neither throws nor returns: a generic call looks up types, which costs more than a short batch.
    package func asyncJobs(group: WaitGroup, _ fill: (inout Batch) -> Void) {
        unsafe withUnsafeTemporaryAllocation(byteCount: Int(OD_BATCH_BYTES), alignment: 16) { room in
            var batch = unsafe Batch(of: self, group: group, qos: nil, in: room)
            fill(&batch)
            unsafe batch.submit(madeIn: room)
        }
    }

    /// Closures that ``TaskQueue/asyncBatch(group:qos:_:)`` submits together.
    @safe public struct Batch: ~Copyable {
        private let queue: TaskQueue
        private let group: WaitGroup?
        private let qos: QoS?
        /// The engine's batch; nil where closures go to a dispatch queue.
        let handle: OpaquePointer?

        fileprivate init(of queue: TaskQueue, group: WaitGroup?, qos: QoS?, in room: UnsafeMutableRawBufferPointer) {
            self.queue = queue
            self.group = group
            self.qos = qos
            if case .engine(let engine, _) = queue.route, let room = room.baseAddress {
                unsafe handle = od_batch_begin(room, engine, group?.handle, qos?.rawValue ?? -1)
            } else {
                unsafe handle = nil
            }
        }

        /// Adds a closure, which runs once.
        ///
        /// - Ordering: After what was added before.
        /// - Threading: Where `fill` is called.
        /// - Cost: No allocation beside the closure's own captures.
        public mutating func async(execute body: sending @escaping () -> Void) {
            guard let handle = unsafe handle else { return queue.async(group: group, qos: qos, execute: body) }
            if let tracker = queue.tracker {
                unsafe addClosure(tracker.counting(body), handle)
            } else {
                unsafe addClosure(body, handle)
            }
        }

        fileprivate mutating func submit(madeIn room: UnsafeMutableRawBufferPointer) {
            guard let handle = unsafe handle else { return }
            // Another one would go on in this one's memory, which is about to go.
            if unsafe UnsafeRawPointer(handle) != UnsafeRawPointer(room.baseAddress) {
                trap(
                    "TaskQueue.asyncBatch(group:qos:_:): the batch was replaced by another one. Add closures to the batch "
                        + "that the closure is given.")
            }
            unsafe od_batch_submit(handle)
        }
    }
}
