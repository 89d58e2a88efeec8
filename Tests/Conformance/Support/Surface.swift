import Dispatch
import OverdriveCore
import Testing

/// One of the three things that must behave alike: what Linux programs use today, ours, and ours in the shapes of theirs.
///
/// Every scenario takes a surface and uses it through ``Queue``, ``Group`` and their like. Where the two differ on
/// purpose, the scenario asks for ``expects(_:theirs:ours:)`` and so states both behaviours.
enum Surface: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
    /// libdispatch, with Foundation's OperationQueue on top.
    case libdispatch
    case overdrive
    /// The same types again, from OverdriveDispatch.
    case dropIn

#if THREAD_SANITIZER
    /// ThreadSanitizer's runtime makes ordinary closures of libdispatch's barriers.
    static let all: [Surface] = [.overdrive, .dropIn]
#else
    static let all = allCases
#endif

    /// Without the drop-in types, for what their own tests ask them.
    static let apart = all.filter { $0 != .dropIn }

    var testDescription: String { rawValue }

    /// What this surface does where the two differ on purpose. The difference stands in docs/differences.md.
    func expects<Value>(_ difference: Difference, theirs: @autoclosure () -> Value, ours: @autoclosure () -> Value) -> Value {
        switch self {
        case .libdispatch: theirs()
        case .dropIn: difference.isKeptByDropIn ? theirs() : ours()
        case .overdrive: ours()
        }
    }

    func serial(_ label: String = "serial", qos: QoS? = nil) -> Queue {
        switch self {
        case .libdispatch: .theirs(DispatchQueue(label: label, qos: qos?.theirs ?? .unspecified))
        case .dropIn: .dropIn(DropIn.DispatchQueue(label: label, qos: qos?.theirs ?? .unspecified))
        case .overdrive: .ours(.serial(label: label, qos: qos?.ours ?? .default))
        }
    }

    func concurrent(_ label: String = "concurrent", qos: QoS? = nil) -> Queue {
        switch self {
        case .libdispatch:
            .theirs(DispatchQueue(label: label, qos: qos?.theirs ?? .unspecified, attributes: .concurrent))
        case .dropIn:
            .dropIn(DropIn.DispatchQueue(label: label, qos: qos?.theirs ?? .unspecified, attributes: .concurrent))
        case .overdrive: .ours(.concurrent(label: label, qos: qos?.ours ?? .default))
        }
    }

    func queue(_ kind: QueueKind, _ label: String = "queue") -> Queue {
        switch kind {
        case .serial: serial(label)
        case .concurrent: concurrent(label)
        }
    }

    func queue(_ kind: QueueKind, _ label: String = "queue", on target: Queue) -> Queue {
        switch (target, kind) {
        case (.theirs(let target), .serial): .theirs(DispatchQueue(label: label, target: target))
        case (.dropIn(let target), .serial): .dropIn(DropIn.DispatchQueue(label: label, target: target))
        case (.theirs(let target), .concurrent):
            .theirs(DispatchQueue(label: label, attributes: .concurrent, target: target))
        case (.dropIn(let target), .concurrent):
            .dropIn(DropIn.DispatchQueue(label: label, attributes: .concurrent, target: target))
        case (.ours(let target), .serial): .ours(.serial(label: label, target: target))
        case (.ours(let target), .concurrent): .ours(.concurrent(label: label, target: target))
        }
    }

    func inactive(_ kind: QueueKind, _ label: String = "inactive") -> Queue {
        switch (self, kind) {
        case (.libdispatch, .serial): .theirs(DispatchQueue(label: label, attributes: .initiallyInactive))
        case (.dropIn, .serial): .dropIn(DropIn.DispatchQueue(label: label, attributes: .initiallyInactive))
        case (.libdispatch, .concurrent):
            .theirs(DispatchQueue(label: label, attributes: [.concurrent, .initiallyInactive]))
        case (.dropIn, .concurrent):
            .dropIn(DropIn.DispatchQueue(label: label, attributes: [.concurrent, .initiallyInactive]))
        case (.overdrive, .serial): .ours(.serial(label: label, initiallyInactive: true))
        case (.overdrive, .concurrent): .ours(.concurrent(label: label, initiallyInactive: true))
        }
    }

    func global(_ qos: QoS = .default) -> Queue {
        switch self {
        case .libdispatch: .theirs(.global(qos: qos.theirs.qosClass))
        case .dropIn: .dropIn(.global(qos: qos.theirs.qosClass))
        case .overdrive: .ours(.global(qos: qos.ours))
        }
    }

    var main: Queue {
        switch self {
        case .libdispatch: .theirs(.main)
        case .dropIn: .dropIn(.main)
        case .overdrive: .ours(.main)
        }
    }

    func group() -> Group {
        switch self {
        case .libdispatch: .theirs(DispatchGroup())
        case .dropIn: .dropIn(DropIn.DispatchGroup())
        case .overdrive: .ours(WaitGroup())
        }
    }

    /// The band of the closure that runs here. libdispatch has no way to ask on Linux.
    var currentQoS: QoS? {
        switch self {
        case .libdispatch: nil
        case .overdrive, .dropIn: TaskQueue.QoS.current.flatMap { qos in QoS.allCases.first { $0.ours == qos } }
        }
    }

    func operations(limit: Int? = nil) -> Operations {
        Operations(self, limit: limit)
    }
}

/// A kind of queue that both surfaces make.
enum QueueKind: String, CaseIterable, Codable, Sendable {
    case serial, concurrent
}

/// The five bands that both surfaces name alike.
enum QoS: String, CaseIterable, Codable, Sendable {
    case userInteractive, userInitiated, `default`, utility, background

    var theirs: DispatchQoS {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        }
    }

    var ours: TaskQueue.QoS {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        }
    }
}
