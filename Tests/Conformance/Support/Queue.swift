import Dispatch
import OverdriveCore

/// A `DispatchQueue` or a `TaskQueue`.
typealias Queue = Counterpart<DispatchQueue, DropIn.DispatchQueue, TaskQueue>

extension Queue {
    var label: String { on({ $0.label }, { $0.label }, { $0.label }) }

    /// nil: the queue was told none.
    var qos: QoS? {
        on(
            { queue in QoS.allCases.first { $0.theirs == queue.qos } }, { queue in QoS.allCases.first { $0.theirs == queue.qos } },
            { queue in QoS.allCases.first { $0.ours == queue.qos } })
    }

    func suspend() { on({ $0.suspend() }, { $0.suspend() }, { $0.suspend() }) }
    func resume() { on({ $0.resume() }, { $0.resume() }, { $0.resume() }) }
    func activate() { on({ $0.activate() }, { $0.activate() }, { $0.activate() }) }

    func setTarget(_ target: Queue) {
        and(target).on({ $0.setTarget(queue: $1) }, { $0.setTarget(queue: $1) }, { $0.setTarget($1) })
    }

    func async(_ body: @escaping @Sendable () -> Void) {
        on({ $0.async(execute: body) }, { $0.async(execute: body) }, { $0.async(execute: body) })
    }

    func async(qos: QoS, _ body: @escaping @Sendable () -> Void) {
        on(
            { $0.async(qos: qos.theirs, execute: body) }, { $0.async(qos: qos.theirs, execute: body) },
            { $0.async(qos: qos.ours, execute: body) })
    }

    func async(group: Group, _ body: @escaping @Sendable () -> Void) {
        and(group).on(
            { $0.async(group: $1, execute: body) }, { $0.async(group: $1, execute: body) }, { $0.async(group: $1, execute: body) })
    }

    func sync<R>(_ body: () throws -> R) rethrows -> R {
        try on({ try $0.sync(execute: body) }, { try $0.sync(execute: body) }, { try $0.sync(execute: body) })
    }

    // MARK: - Barriers

    func asyncBarrier(_ body: @escaping @Sendable () -> Void) {
        on(
            { $0.async(flags: .barrier, execute: body) }, { $0.async(flags: .barrier, execute: body) },
            { $0.async(flags: .barrier, execute: body) })
    }

    func asyncBarrier(group: Group, _ body: @escaping @Sendable () -> Void) {
        and(group).on(
            { $0.async(group: $1, flags: .barrier, execute: body) }, { $0.async(group: $1, flags: .barrier, execute: body) },
            { $0.async(group: $1, flags: .barrier, execute: body) })
    }

    func syncBarrier<R>(_ body: () throws -> R) rethrows -> R {
        try on({ try $0.sync(flags: .barrier, execute: body) }, { try $0.sync(flags: .barrier, execute: body) }, { try $0.sync(flags: .barrier, execute: body) })
    }

    // MARK: - Where the caller is

    func assertOnQueue() {
        on(
            { dispatchPrecondition(condition: .onQueue($0)) }, { dispatchPrecondition(condition: .onQueue($0)) },
            { $0.assertOnQueue() })
    }

    func assertOnQueueAsBarrier() {
        on(
            { dispatchPrecondition(condition: .onQueueAsBarrier($0)) }, { dispatchPrecondition(condition: .onQueueAsBarrier($0)) },
            { $0.assertOnQueueAsBarrier() })
    }

    func assertNotOnQueue() {
        on(
            { dispatchPrecondition(condition: .notOnQueue($0)) }, { dispatchPrecondition(condition: .notOnQueue($0)) },
            { $0.assertNotOnQueue() })
    }
}

/// A kind of queue that both surfaces make.
enum QueueKind: String, CaseIterable, Codable, Sendable {
    case serial, concurrent
}

extension Surface {
    func serial(_ label: String = "serial", qos: QoS? = nil) -> Queue { queue(.serial, label, qos: qos) }
    func concurrent(_ label: String = "concurrent", qos: QoS? = nil) -> Queue { queue(.concurrent, label, qos: qos) }

    func queue(_ kind: QueueKind, _ label: String = "queue", qos: QoS? = nil) -> Queue {
        let (isSerial, theirs, ours) = (kind == .serial, qos?.theirs ?? .unspecified, qos?.ours ?? .default)
        return pick(
            DispatchQueue(label: label, qos: theirs, attributes: isSerial ? [] : .concurrent),
            DropIn.DispatchQueue(label: label, qos: theirs, attributes: isSerial ? [] : .concurrent),
            isSerial ? TaskQueue.serial(label: label, qos: ours) : TaskQueue.concurrent(label: label, qos: ours))
    }

    func queue(_ kind: QueueKind, _ label: String = "queue", on target: Queue) -> Queue {
        let isSerial = kind == .serial
        return target.on(
            { .theirs(DispatchQueue(label: label, attributes: isSerial ? [] : .concurrent, target: $0)) },
            { .dropIn(DropIn.DispatchQueue(label: label, attributes: isSerial ? [] : .concurrent, target: $0)) },
            { .ours(isSerial ? .serial(label: label, target: $0) : .concurrent(label: label, target: $0)) })
    }

    func inactive(_ kind: QueueKind, _ label: String = "inactive") -> Queue {
        let isSerial = kind == .serial
        return pick(
            DispatchQueue(label: label, attributes: isSerial ? .initiallyInactive : [.concurrent, .initiallyInactive]),
            DropIn.DispatchQueue(label: label, attributes: isSerial ? .initiallyInactive : [.concurrent, .initiallyInactive]),
            isSerial
                ? TaskQueue.serial(label: label, initiallyInactive: true)
                : TaskQueue.concurrent(label: label, initiallyInactive: true))
    }

    func global(_ qos: QoS = .default) -> Queue {
        pick(
            DispatchQueue.global(qos: qos.theirs.qosClass), DropIn.DispatchQueue.global(qos: qos.theirs.qosClass),
            TaskQueue.global(qos: qos.ours))
    }

    var main: Queue { pick(DispatchQueue.main, DropIn.DispatchQueue.main, TaskQueue.main) }

    func concurrentPerform(_ iterations: Int, _ body: @escaping @Sendable (Int) -> Void) {
        switch self {
        case .libdispatch: DispatchQueue.concurrentPerform(iterations: iterations, execute: body)
        case .dropIn: DropIn.DispatchQueue.concurrentPerform(iterations: iterations, execute: body)
        case .overdrive: TaskQueue.concurrentPerform(iterations: iterations, execute: body)
        }
    }

    /// The band of the closure that runs here. libdispatch has no way to ask on Linux.
    var currentQoS: QoS? {
        self == .libdispatch ? nil : TaskQueue.QoS.current.flatMap { qos in QoS.allCases.first { $0.ours == qos } }
    }
}

/// The five bands that both surfaces name alike.
enum QoS: String, CaseIterable, Codable, Sendable {
    case userInteractive, userInitiated, `default`, utility, background

    private var both: (theirs: DispatchQoS, ours: TaskQueue.QoS) {
        switch self {
        case .userInteractive: (.userInteractive, .userInteractive)
        case .userInitiated: (.userInitiated, .userInitiated)
        case .default: (.default, .default)
        case .utility: (.utility, .utility)
        case .background: (.background, .background)
        }
    }

    var theirs: DispatchQoS { both.theirs }
    var ours: TaskQueue.QoS { both.ours }
}
