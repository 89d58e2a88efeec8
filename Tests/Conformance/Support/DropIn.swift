import Dispatch
import Foundation
@_exported import OverdriveDispatch

/// The types that take the places of Dispatch's and Foundation's: the same scenarios run on them, spelled alike.
enum DropIn {
    typealias DispatchQueue = OverdriveDispatch.DispatchQueue
    typealias DispatchGroup = OverdriveDispatch.DispatchGroup
    typealias DispatchSemaphore = OverdriveDispatch.DispatchSemaphore
    typealias DispatchWorkItem = OverdriveDispatch.DispatchWorkItem
    typealias DispatchSpecificKey = OverdriveDispatch.DispatchSpecificKey
    typealias DispatchSource = OverdriveDispatch.DispatchSource
    typealias DispatchSourceTimer = OverdriveDispatch.DispatchSourceTimer
    typealias BlockOperation = OverdriveDispatch.BlockOperation
    typealias OperationQueue = OverdriveDispatch.OperationQueue
}

// The bare names are the originals here.
typealias DispatchQueue = Dispatch.DispatchQueue
typealias DispatchGroup = Dispatch.DispatchGroup
typealias DispatchSemaphore = Dispatch.DispatchSemaphore
typealias DispatchWorkItem = Dispatch.DispatchWorkItem
typealias DispatchSpecificKey = Dispatch.DispatchSpecificKey
typealias DispatchSource = Dispatch.DispatchSource
typealias DispatchSourceTimer = Dispatch.DispatchSourceTimer
typealias BlockOperation = Foundation.BlockOperation
typealias OperationQueue = Foundation.OperationQueue

extension Difference {
    /// Whether the drop-in types keep what libdispatch and Foundation do, as a program that was moved over expects it.
    var isKeptByDropIn: Bool {
        switch self {
        case .labels, .sharedQueues, .limitOfZero, .cancelledWhileSuspended, .plainQoS, .timerLives, .barrierCounts,
            .barrierAndDependencies, .dependencyAdded, .releasedSuspended, .releasedInactive:
            true
        default:
            false
        }
    }
}
