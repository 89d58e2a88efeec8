// Owns submissions of a C function with a context, without a closure object. Task graphs submit their nodes with it.
// It never retains the context.

internal import CScheduler


extension TaskQueue {
    package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Submits `function(context)`. The submitter keeps `context` alive until `group` is empty.
    ///
    /// A cancellation or a shutdown discards the job without a call, and still counts it as finished in `group`.
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
