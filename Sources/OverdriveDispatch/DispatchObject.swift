/// What queues, groups, semaphores, sources and channels have in common.
///
/// `suspend()` and `resume()` mean something for queues and sources; on the others they do nothing, as in Dispatch.
// Its subclasses guard what they keep, each in its own way.
public class DispatchObject: @unchecked Sendable {
    init() {}

    /// Puts an object that has not been activated on another queue.
    public func setTarget(queue: DispatchQueue) {}

    /// Lets an object start that was made inactive. On one that is active it does nothing.
    public func activate() {}

    /// Keeps further closures from starting until ``resume()``. Calls nest.
    public func suspend() {}

    /// Takes one ``suspend()`` back.
    public func resume() {}
}
