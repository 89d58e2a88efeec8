// Owns the submission of many closures at once. Programs and task graphs call it. A batch never outlives the call of
// `asyncBatch`.

internal import CScheduler

extension TaskQueue {
    /// Submits several closures together, with one count, one queue operation and one wake of a worker.
    ///
    ///     queue.asyncBatch(group: group) { batch in
    ///         for tile in tiles { batch.async { render(tile) } }
    ///     }
    ///
    /// - Parameters:
    ///   - group: Counts each closure until it has run or was cancelled.
    ///   - qos: Raises the closures above the queue's quality of service.
    ///   - fill: Adds the closures. If it throws, the closures added so far are still submitted.
    /// - Returns: The result of `fill`.
    /// - Throws: Any error of `fill`.
    /// - Ordering: As if ``async(group:qos:flags:execute:)`` were called for each closure in order when `fill`
    ///   returns. After 256 closures, the next addition submits these 256. A batch that is opened inside another
    ///   batch's `fill` is submitted before the rest of the outer one.
    /// - Threading: Any thread. Traps if `fill` has replaced the batch by another one. A pending limit applies to
    ///   each closure separately.
    /// - Cost: One allocation of 4 KiB. For 256 closures, one locked instruction to count them, and one critical
    ///   section of a serial or limited queue. A concurrent queue takes one more locked instruction per closure if
    ///   the submitter is not a worker.
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

    /// The closures that ``TaskQueue/asyncBatch(group:qos:_:)`` submits together.
    @safe public struct Batch: ~Copyable {
        private let queue: TaskQueue
        private let group: WaitGroup?
        private let qos: QoS?
        /// The engine's batch; nil if the closures go to a dispatch queue.
        private let handle: OpaquePointer?

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
        /// - Ordering: After the earlier closures of the batch.
        /// - Threading: Only the thread that calls `fill`.
        /// - Cost: No allocation beside the closure's captures.
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
            // A replaced batch would use the memory of this one, which is about to be freed.
            if unsafe UnsafeRawPointer(handle) != UnsafeRawPointer(room.baseAddress) {
                trap(
                    "TaskQueue.asyncBatch(group:qos:_:): the batch was replaced by another one. Add closures to the batch "
                        + "that the closure is given.")
            }
            unsafe od_batch_submit(handle)
        }
    }
}
