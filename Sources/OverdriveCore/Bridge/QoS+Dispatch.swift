// Owns the conversions between this library's quality of service and Dispatch's. Dispatch routes and the drop-in types
// call them. They know no relative priorities.

package import Dispatch

extension TaskQueue.QoS {
    /// The same class of Dispatch's; nil for `.unspecified`, which is the queue's.
    package init?(_ theirs: DispatchQoS.QoSClass) {
        switch theirs {
        case .userInteractive: self = .userInteractive
        case .userInitiated: self = .userInitiated
        case .default: self = .default
        case .utility: self = .utility
        case .background: self = .background
        default: return nil
        }
    }

    /// The same class of Dispatch's.
    package var dispatchClass: DispatchQoS.QoSClass {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        }
    }

    /// Dispatch's quality of service without a relative priority.
    package var dispatched: DispatchQoS { DispatchQoS(qosClass: dispatchClass, relativePriority: 0) }
}
