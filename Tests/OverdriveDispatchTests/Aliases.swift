// What `overdrive adopt` writes into a module: these tests see the names as a package does that was moved over.
import OverdriveDispatch

typealias DispatchObject = OverdriveDispatch.DispatchObject
typealias DispatchQueue = OverdriveDispatch.DispatchQueue
typealias DispatchGroup = OverdriveDispatch.DispatchGroup
typealias DispatchSemaphore = OverdriveDispatch.DispatchSemaphore
typealias DispatchWorkItem = OverdriveDispatch.DispatchWorkItem
typealias DispatchSpecificKey<T> = OverdriveDispatch.DispatchSpecificKey<T>
typealias DispatchPredicate = OverdriveDispatch.DispatchPredicate
typealias DispatchSource = OverdriveDispatch.DispatchSource
typealias DispatchSourceProtocol = OverdriveDispatch.DispatchSourceProtocol
typealias DispatchSourceTimer = OverdriveDispatch.DispatchSourceTimer
typealias DispatchSourceRead = OverdriveDispatch.DispatchSourceRead
typealias DispatchSourceUserDataAdd = OverdriveDispatch.DispatchSourceUserDataAdd
typealias DispatchIO = OverdriveDispatch.DispatchIO
typealias Operation = OverdriveDispatch.Operation
typealias BlockOperation = OverdriveDispatch.BlockOperation
typealias OperationQueue = OverdriveDispatch.OperationQueue

func dispatchPrecondition(condition: @autoclosure () -> OverdriveDispatch.DispatchPredicate) {
    OverdriveDispatch.dispatchPrecondition(condition: condition())
}
