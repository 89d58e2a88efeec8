// What `overdrive adopt` writes into a module.
#if OD
    import OverdriveDispatch
    typealias DispatchQueue = OverdriveDispatch.DispatchQueue
    typealias DispatchGroup = OverdriveDispatch.DispatchGroup
    typealias DispatchSemaphore = OverdriveDispatch.DispatchSemaphore
    typealias DispatchWorkItem = OverdriveDispatch.DispatchWorkItem
    typealias DispatchSource = OverdriveDispatch.DispatchSource
    typealias DispatchObject = OverdriveDispatch.DispatchObject
    typealias DispatchIO = OverdriveDispatch.DispatchIO
    typealias DispatchSpecificKey = OverdriveDispatch.DispatchSpecificKey
    typealias Operation = OverdriveDispatch.Operation
    typealias BlockOperation = OverdriveDispatch.BlockOperation
    typealias OperationQueue = OverdriveDispatch.OperationQueue
    func dispatchPrecondition(condition: @autoclosure () -> OverdriveDispatch.DispatchPredicate) {
        OverdriveDispatch.dispatchPrecondition(condition: condition())
    }
#endif
