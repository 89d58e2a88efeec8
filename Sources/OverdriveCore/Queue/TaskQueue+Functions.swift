internal import CScheduler

// Jobs without a closure: a C function and a context that the submitter keeps alive. Task graphs submit their nodes this way.

extension TaskQueue {
    package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Submits `function(context)`. The submitter keeps `context` alive until `group` is empty.
    ///
    /// A cancel or a stop discards the job without a call, and tells `group`.
    package func async(
        group: WaitGroup, qos: QoS?, function: Function, context: UnsafeMutableRawPointer
    ) {
        guard case .engine(let queue, _) = route else {
            nonisolated(unsafe) let (function, context) = unsafe (function, context)
            return async(group: group, qos: qos) { unsafe function(context) }
        }
        let status = unsafe od_queue_async(queue, group.handle, qos?.rawValue ?? -1, function, context)
        if status != OD_OK && status != OD_STOPPED {
            trap("TaskQueue.async: cannot submit a closure (out of \(status == OD_NO_THREAD ? "threads" : "memory")). Raise the limit.")
        }
    }
}

extension TaskQueue.Batch {
    /// Adds `function(context)`, as ``TaskQueue/async(group:qos:function:context:)`` submits it.
    package mutating func async(function: TaskQueue.Function, context: UnsafeMutableRawPointer) {
        guard let handle = unsafe handle else {
            nonisolated(unsafe) let (function, context) = unsafe (function, context)
            return async { unsafe function(context) }
        }
        unsafe od_batch_add(handle, function, context)
    }
}
