/// Queues of closures, as a scheduler offers them. The workloads of ``Closures`` are generic over it and
/// specialised in the contender's own module, so that each call is the contender's own code.
public protocol ClosureQueues: SendableMetatype {
    associatedtype Queue: Sendable
    associatedtype Group: Sendable
    /// A queue that runs as many closures at a time as there are workers.
    static func makeQueue() -> Queue
    /// A queue for closures that block: the same, where the scheduler does not ask to be told.
    static func makeQueueForBlocking() -> Queue
    /// A group for closures of `queue`.
    static func makeGroup(for queue: Queue) -> Group
    static func submit(to queue: Queue, _ body: consuming @escaping @Sendable () -> Void)
    static func submit(to queue: Queue, in group: Group, _ body: consuming @escaping @Sendable () -> Void)
    /// Waits for every closure of the group.
    static func wait(for group: Group)
}

extension ClosureQueues {
    @inlinable
    public static func makeQueueForBlocking() -> Queue { makeQueue() }
}

/// Queues that run one closure at a time.
public protocol SerialQueues: ClosureQueues {
    static func makeSerialQueue() -> Queue
}

/// Serial queues on which the calling thread may run something itself, in its turn.
public protocol SyncQueues: SerialQueues {
    static func sync(on queue: Queue, _ body: () -> Void)
}

/// Queues that run at most so many closures at a time.
public protocol LimitedQueues: ClosureQueues {
    static func makeQueue(limit: Int) -> Queue
}

/// Queues on which a closure may ask to be alone.
public protocol BarrierQueues: ClosureQueues {
    static func submitAlone(to queue: Queue, in group: Group, _ body: consuming @escaping @Sendable () -> Void)
}

/// Queues that hold back what is submitted.
public protocol PausableQueues: ClosureQueues {
    static func suspend(_ queue: Queue)
    static func resume(_ queue: Queue)
}

/// Groups that are entered and left by hand, and that submit a closure when they are empty.
public protocol NotifyingGroups: ClosureQueues {
    static func enter(_ group: Group)
    static func leave(_ group: Group)
    static func whenEmpty(_ group: Group, submitTo queue: Queue, _ body: consuming @escaping @Sendable () -> Void)
}

/// Queues that submit a closure at a time to come, unless it is called off before.
public protocol TimedQueues: NotifyingGroups {
    associatedtype Moment
    associatedtype Timer
    static var now: Moment { get }
    static func submit(to queue: Queue, microseconds: Int, after start: Moment, _ body: consuming @escaping @Sendable () -> Void)
    static func arm(on queue: Queue, milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Timer
    static func cancel(_ timer: Timer)
}
