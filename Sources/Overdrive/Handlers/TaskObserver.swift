public import OverdriveCore

/// Is told how a task gets on. Every method has a default that does nothing.
///
///     struct Stopwatch: TaskObserver {
///         func taskDidFinishExecution<T>(_ task: Task<T>) { print(task.name ?? "a task", "is over") }
///     }
///
/// - Threading: Methods are called on the thread that starts or finishes the task. They hold it up.
public protocol TaskObserver: Sendable {
    /// What the observer is called when one of it is to be removed; its type's name by default.
    var observerName: String { get }
    /// The body is about to begin, for the first or another time.
    func taskDidStartExecution<T>(_ task: Task<T>)
    /// The outcome is decided and about to be published.
    func taskWillFinishExecution<T>(_ task: Task<T>)
    /// The outcome is published and handlers were called; dependents wait still.
    func taskDidFinishExecution<T>(_ task: Task<T>)
    /// An attempt has failed, and another will follow.
    func taskDidRetry<T>(_ task: Task<T>)
}

extension TaskObserver {
    public var observerName: String { String(describing: type(of: self)) }
    public func taskDidStartExecution<T>(_ task: Task<T>) {}
    public func taskWillFinishExecution<T>(_ task: Task<T>) {}
    public func taskDidFinishExecution<T>(_ task: Task<T>) {}
    public func taskDidRetry<T>(_ task: Task<T>) {}
}

/// Is told which tasks come to a queue, and how they go. Every method has a default that does nothing.
///
/// - Ordering: The delegate gets all calls for each task that is added to the queue: `didAdd`, then `willFinish`,
///   then `didFinish`, once each. It gets none for a task that was cancelled or added before the delegate was set. If
///   the queue gets another delegate, this one still gets the remaining calls. If a task finishes while it is being
///   added, the last two follow the first, when the outcome is already there.
public protocol TaskQueueDelegate: AnyObject, Sendable {
    /// A task is about to be added: by the program, or because a dependent of it was, which brings it along.
    func didAdd<T>(task: Task<T>, to queue: TaskQueue)
    /// A task's outcome is decided and about to be published.
    func willFinish<T>(task: Task<T>, in queue: TaskQueue)
    /// A task is over, handlers were called.
    func didFinish<T>(task: Task<T>, in queue: TaskQueue)
    /// An attempt has failed, and another will follow.
    func didRetry<T>(task: Task<T>, in queue: TaskQueue)
}

extension TaskQueueDelegate {
    public func didAdd<T>(task: Task<T>, to queue: TaskQueue) {}
    public func willFinish<T>(task: Task<T>, in queue: TaskQueue) {}
    public func didFinish<T>(task: Task<T>, in queue: TaskQueue) {}
    public func didRetry<T>(task: Task<T>, in queue: TaskQueue) {}
}

extension AnyTask {
    /// Adds an observer, which the task holds.
    ///
    /// - Ordering: Observers are told in the order in which they were added, of what comes from here on.
    /// - Threading: Any thread.
    /// - Cost: One allocation for the first of a task's extras, and a lock.
    public final func add(observer: any TaskObserver) {
        change(.observers) { $0.observers.add(observer) }
    }

    /// Whether there is an observer of exactly this type.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A copy of the list.
    public final func contains<O: TaskObserver>(observer type: O.Type) -> Bool {
        observers.contains { Swift.type(of: $0) == type }
    }

    /// Removes the first observer of the same name.
    ///
    /// - Returns: Whether there was one.
    /// - Ordering: One that is being told may still be told.
    /// - Threading: Any thread. Names are asked for outside of the lock.
    /// - Cost: A lock and a look at each observer.
    @discardableResult
    public final func remove(observer: any TaskObserver) -> Bool {
        guard let extras else { return false }
        let name = observer.observerName
        return extras.removeFirst(of: \.observers) { $0.observerName == name }
    }

    /// Removes all observers of a type.
    ///
    /// - Returns: Whether there was one.
    /// - Ordering: One that is being told may still be told.
    /// - Threading: Any thread.
    /// - Cost: A lock and a look at each observer.
    @discardableResult
    public final func remove<O: TaskObserver>(observer type: O.Type) -> Bool {
        extras?.removeAll(of: \.observers) { $0 is O } ?? false
    }
}
