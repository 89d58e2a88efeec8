internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// A queue on another one, which runs its closures one at a time, strictly in order.
    ///
    ///     let database = TaskQueue.serial(label: "database")
    ///     let imports = TaskQueue.serial(label: "imports", target: database)
    ///     let searches = TaskQueue.concurrent(label: "searches", target: database)
    ///     imports.suspend()           // searches go on
    ///
    /// A closure of the queue runs on its target too. The target's order, limit, barriers and suspension apply.
    /// `getSpecific(key:)` and ``assertOnQueue()`` see both queues. A target may have a target.
    ///
    /// - Parameters:
    ///   - label: For reports and messages; the engine keeps 47 bytes of it, in whole characters.
    ///   - qos: The quality of service of the closures; nil takes the target's. If it is higher than the target's,
    ///     closures before them in the target are raised to it.
    ///   - target: The queue that it is on. It may be everybody's (``global(qos:)``), which gives no order; one that
    ///     runs on a dispatch queue traps.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``.
    /// - Ordering: A closure waits for its turn in its queue, then in its target, behind earlier submissions to the
    ///   target. If nothing else waits in the target, up to 64 closures of the queue run in a row.
    /// - Threading: ``sync(flags:execute:)`` takes a place of the queue, then one of each target. It traps in a
    ///   closure of a serial target, which would wait for itself. A closure of another target keeps its place while
    ///   it waits, and earmarks the place for the awaited queue. So all closures of a limited target may `sync` onto
    ///   queues on it at once, within the limit. Places that `run(_:)` holds across an `await` are not earmarked.
    /// - Cost: For each closure a critical section of the queue and one of each target. From the first queue on it on,
    ///   each of the target's own closures takes a short critical section.
    public static func serial(
        label: String = "", qos: QoS? = nil, target: TaskQueue, initiallyInactive: Bool = false
    ) -> TaskQueue {
        TaskQueue(label: label, qos: qos, limit: 1, on: target, isInactive: initiallyInactive)
    }

    /// A queue on another one, which runs its closures several at a time; see
    /// ``serial(label:qos:target:initiallyInactive:)``.
    ///
    /// - Parameters:
    ///   - label: For reports and messages; the engine keeps 47 bytes of it, in whole characters.
    ///   - qos: How much its closures matter; nil: as much as the target's.
    ///   - maxConcurrentTaskCount: How many run at a time, if the target lets so many.
    ///   - target: The queue that it is on.
    ///   - initiallyInactive: Whether nothing starts before ``activate()``.
    /// - Ordering: As of ``serial(label:qos:target:initiallyInactive:)``, of as many as the limit allows at a time.
    /// - Threading: As of ``serial(label:qos:target:initiallyInactive:)``.
    /// - Cost: As of ``serial(label:qos:target:initiallyInactive:)``.
    public static func concurrent(
        label: String = "", qos: QoS? = nil, maxConcurrentTaskCount: Int = TaskQueue.unlimited, target: TaskQueue,
        initiallyInactive: Bool = false
    ) -> TaskQueue {
        TaskQueue(
            label: label, qos: qos, limit: maxConcurrentTaskCount, on: target, isInactive: initiallyInactive)
    }

    private convenience init(label: String, qos: QoS?, limit: Int, on target: TaskQueue, isInactive: Bool) {
        let (handle, scheduler) = unsafe TaskQueue.engine(of: target, for: label)
        unsafe self.init(
            label: label, qos: qos ?? target.qos, limit: limit, isInactive: isInactive, target: (target, handle),
            scheduler: scheduler)
    }

    /// Puts an inactive queue on another one, in place of what it was on; nil: on none.
    ///
    /// - Parameter target: A queue of the same scheduler.
    /// - Ordering: All of the queue's closures run on the new target: none has begun.
    /// - Threading: Any thread, before ``activate()``: on an active queue it traps. It also traps where the queues would
    ///   be on each other in a circle, and names them. Closures of the target do not wait in the queue, or in one on it,
    ///   before it is activated: they might wait for themselves.
    /// - Cost: A few locks, and a look at each queue that the target is on.
    public func setTarget(_ target: TaskQueue?) {
        guard case .engine(let queue, _) = route else {
            trap("TaskQueue.setTarget: the queue runs on a dispatch queue (\"\(label)\"). Set that queue's target.")
        }
        let handle = unsafe target.map { unsafe TaskQueue.engine(of: $0, for: label).0 }
        let before = keptTarget.withLock { kept in
            defer { kept = target }
            unsafe od_queue_set_target(queue, handle)
            return kept
        }
        _ = consume before
    }

    private static func engine(of target: TaskQueue, for label: String) -> (OpaquePointer, Scheduler) {
        guard case .engine(let handle, let scheduler) = target.route else {
            trap(
                "TaskQueue.setTarget: the target runs on a dispatch queue (\"\(label)\" on \"\(target.label)\"). "
                    + "Make a dispatch queue with that target, and a TaskQueue of it.")
        }
        return unsafe (handle, scheduler)
    }

    /// The queue's handle goes, and lets go of its target's: a target that is suspended, and that nobody else holds,
    /// is over with that, or the queue's closures would never run. The target's values stay until the queue's last
    /// closure, which may ask for them; so do those of the target's own target, which does the same when it goes.
    func keepTargetsSpecifics() {
        guard let target = keptTarget.withLock({ $0 }), !target.isGlobal, let values = target.specifics(make: true)
        else { return }
        specifics(make: true)?.keep(values)
    }
}
