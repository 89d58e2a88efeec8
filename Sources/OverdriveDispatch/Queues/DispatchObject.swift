/// The base class of queues, groups, semaphores, sources and channels.
///
/// `suspend()` and `resume()` affect queues and sources only, as in Dispatch.
// Each subclass guards its own state.
public class DispatchObject: @unchecked Sendable {
    init() {}

    /// Sets the target of an object that has not been activated.
    public func setTarget(queue: DispatchQueue) {}

    /// Starts an object that was created inactive. Has no effect on an active object.
    public func activate() {}

    /// Prevents further closures from starting until ``resume()``. Calls nest.
    public func suspend() {}

    /// Reverts one call of ``suspend()``.
    public func resume() {}
}
