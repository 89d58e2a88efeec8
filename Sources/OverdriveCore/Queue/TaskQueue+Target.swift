// Owns the creation of queues on a target, and the change of a target. Programs call it. It never moves a closure
// that has already been queued in a target.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// Creates a serial queue on a target, whose closures also obey the target.
    ///
    ///     let database = TaskQueue.serial(label: "database")
    ///     let imports = TaskQueue.serial(label: "imports", target: database)
    ///     let searches = TaskQueue.concurrent(label: "searches", target: database)
    ///     imports.suspend()           // searches go on
    ///
    /// Each closure of the queue also runs on the target, so the target's order, limit, barriers and suspension
    /// apply. `getSpecific(key:)` and ``assertOnQueue()`` see both queues. A target may have a target.
    ///
    /// - Parameters:
    ///   - label: The name in reports and messages; the engine keeps at most 47 bytes, in whole characters.
    ///   - qos: The quality of service of the closures; nil takes that of the target. If it is higher than the
    ///     target's, closures in front of them in the target are raised to it.
    ///   - target: The target queue. A shared queue (``global(qos:)``) is allowed, but gives no order. A queue that
    ///     runs on a dispatch queue traps.
    ///   - initiallyInactive: True if no closure starts before ``activate()``.
    /// - Ordering: A closure waits for its turn in its queue, then in its target, behind earlier submissions to the
    ///   target. If nothing else waits in the target, up to 64 closures of the queue run in a row.
    /// - Threading: ``sync(flags:execute:)`` takes a slot of the queue, then one of each target. It traps in a
    ///   closure of a serial target, which would wait for itself. A closure of another target keeps its slot while
    ///   it waits, and earmarks the slot for the awaited queue. So all closures of a limited target may `sync` to
    ///   queues on it at once, within the limit. Slots that `run(_:)` holds across an `await` are not earmarked.
    /// - Cost: Each closure takes a critical section of the queue and one of each target. Once a queue has this
    ///   target, each closure of the target takes a short critical section.
    public static func serial(
        label: String = "", qos: QoS? = nil, target: TaskQueue, initiallyInactive: Bool = false
    ) -> TaskQueue {
        TaskQueue(label: label, qos: qos, limit: 1, on: target, isInactive: initiallyInactive)
    }

    /// Creates a concurrent queue on a target; see ``serial(label:qos:target:initiallyInactive:)``.
    ///
    /// - Parameters:
    ///   - label: The name in reports and messages; the engine keeps at most 47 bytes, in whole characters.
    ///   - qos: The quality of service of the closures; nil takes that of the target.
    ///   - maxConcurrentTaskCount: The maximum number of concurrent closures, within the limit of the target.
    ///   - target: The target queue.
    ///   - initiallyInactive: True if no closure starts before ``activate()``.
    /// - Ordering: The same as ``serial(label:qos:target:initiallyInactive:)``, for several closures at a time.
    /// - Threading: The same as ``serial(label:qos:target:initiallyInactive:)``.
    /// - Cost: The same as ``serial(label:qos:target:initiallyInactive:)``.
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

    /// Replaces the target of an inactive queue; nil removes the target.
    ///
    /// - Parameter target: A queue of the same scheduler.
    /// - Ordering: All closures of the queue run on the new target, because none has started.
    /// - Threading: Any thread, before ``activate()``; on an active queue the call traps. It also traps if the
    ///   targets would form a circle, and names the queues. Before the activation, a closure of the target must not
    ///   wait for the queue, or for a queue on it: it might wait for itself.
    /// - Cost: A few locks, and a visit of each further target.
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

    /// Keeps the target's specific values until the last closure of this queue, which may read them. Called when the
    /// queue's handle is released. The handle then releases its target: otherwise a suspended target without other
    /// owners would never resume. The target does the same for its own target.
    func keepTargetsSpecifics() {
        guard let target = keptTarget.withLock({ $0 }), !target.isGlobal, let values = target.specifics(make: true)
        else { return }
        specifics(make: true)?.keep(values)
    }
}
