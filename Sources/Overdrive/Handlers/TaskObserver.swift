// Owns the protocols of observers and queue delegates. Programs implement them; the state machine of AnyTask calls
// them. Their default implementations do nothing.

public import OverdriveCore

/// Observes the progress of a task. Every method has a default that does nothing.
///
///     struct Stopwatch: TaskObserver {
///         func taskDidFinishExecution<T>(_ task: Task<T>) { print(task.name ?? "a task", "is over") }
///     }
///
/// - Threading: Methods are called on the thread that starts or finishes the task, which waits until they return.
public protocol TaskObserver: Sendable {
    /// The name by which `remove(observer:)` finds the observer. The default is the name of the type.
    var observerName: String { get }
    /// Called before each attempt of the body.
    func taskDidStartExecution<T>(_ task: Task<T>)
    /// Called when the outcome is decided, before it is published.
    func taskWillFinishExecution<T>(_ task: Task<T>)
    /// Called when the outcome is published and handlers were called, before dependents start.
    func taskDidFinishExecution<T>(_ task: Task<T>)
    /// Called when an attempt has failed and another will follow.
    func taskDidRetry<T>(_ task: Task<T>)
}

extension TaskObserver {
    public var observerName: String { String(describing: type(of: self)) }
    public func taskDidStartExecution<T>(_ task: Task<T>) {}
    public func taskWillFinishExecution<T>(_ task: Task<T>) {}
    public func taskDidFinishExecution<T>(_ task: Task<T>) {}
    public func taskDidRetry<T>(_ task: Task<T>) {}
}

/// Observes the tasks of a queue. Every method has a default that does nothing.
///
/// - Ordering: For each task added to the queue, the delegate receives `didAdd`, `willFinish` and `didFinish`, once
///   each and in this order. It receives no calls for a task that was cancelled or added before the delegate was set.
///   If the queue's delegate is replaced, the old delegate still receives the remaining calls. If a task finishes
///   while it is being added, `willFinish` and `didFinish` follow `didAdd`, after the outcome is published.
public protocol TaskQueueDelegate: AnyObject, Sendable {
    /// Called when a task is about to be added, by the program or together with a dependent task.
    func didAdd<T>(task: Task<T>, to queue: TaskQueue)
    /// Called when the outcome of a task is decided, before it is published.
    func willFinish<T>(task: Task<T>, in queue: TaskQueue)
    /// Called when a task has finished and its handlers were called.
    func didFinish<T>(task: Task<T>, in queue: TaskQueue)
    /// Called when an attempt has failed and another will follow.
    func didRetry<T>(task: Task<T>, in queue: TaskQueue)
}

extension TaskQueueDelegate {
    public func didAdd<T>(task: Task<T>, to queue: TaskQueue) {}
    public func willFinish<T>(task: Task<T>, in queue: TaskQueue) {}
    public func didFinish<T>(task: Task<T>, in queue: TaskQueue) {}
    public func didRetry<T>(task: Task<T>, in queue: TaskQueue) {}
}

extension AnyTask {
    /// Adds an observer, which the task retains.
    ///
    /// - Parameter observer: The observer.
    /// - Ordering: Observers are called in the order of registration, for later events.
    /// - Threading: Any thread.
    /// - Cost: A lock, and one allocation for the first optional property of a task.
    public final func add(observer: any TaskObserver) {
        change(.observers) { $0.observers.add(observer) }
    }

    /// Returns whether the task has an observer of exactly this type.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether there is one.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A copy of the list.
    public final func contains<O: TaskObserver>(observer type: O.Type) -> Bool {
        observers.contains { Swift.type(of: $0) == type }
    }

    /// Removes the first observer with the same name.
    ///
    /// - Parameter observer: An observer with the name to search for.
    /// - Returns: Whether an observer was removed.
    /// - Ordering: A call that is under way continues.
    /// - Threading: Any thread. `observerName` is called without a lock.
    /// - Cost: A lock and a comparison for each observer.
    @discardableResult
    public final func remove(observer: any TaskObserver) -> Bool {
        guard let extras else { return false }
        let name = observer.observerName
        return extras.removeFirst(of: \.observers) { $0.observerName == name }
    }

    /// Removes all observers of a type.
    ///
    /// - Parameter type: The type.
    /// - Returns: Whether an observer was removed.
    /// - Ordering: A call that is under way continues.
    /// - Threading: Any thread.
    /// - Cost: A lock and a comparison for each observer.
    @discardableResult
    public final func remove<O: TaskObserver>(observer type: O.Type) -> Bool {
        extras?.removeAll(of: \.observers) { $0 is O } ?? false
    }
}
