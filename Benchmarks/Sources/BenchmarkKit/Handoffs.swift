internal import Glibc

/// Queues with a semaphore that a closure signals, and with Swift tasks beside them.
public protocol HandoffQueues: SendableMetatype {
    associatedtype Queue: Sendable
    associatedtype Semaphore: Sendable
    static func makeQueue() -> Queue
    static func submit(to queue: Queue, _ body: consuming @escaping @Sendable () -> Void)
    static func makeSemaphore() -> Semaphore
    static func signal(_ semaphore: Semaphore)
    static func wait(for semaphore: Semaphore)
    /// Starts a Swift task on the row's executor.
    static func startTask(_ body: @escaping @Sendable () async -> Void)
}

extension HandoffQueues {
    @inlinable
    public static func startTask(_ body: @escaping @Sendable () async -> Void) { Task.detached(operation: body) }
}

extension HandoffQueues where Semaphore == Gate {
    public static func makeSemaphore() -> Gate { Gate() }
    public static func signal(_ semaphore: Gate) { semaphore.open() }
    public static func wait(for semaphore: Gate) { semaphore.pass() }
}

/// One closure at a time. The submitter waits for the closure through something other than a group.
public enum Handoffs<S: HandoffQueues> {
    @inlinable
    public static var entries: [Harness.Entry] {
        [
            ("handoff-semaphore", semaphore), ("handoff-condition", condition), ("handoff-pipe", pipe),
        ]
    }

    @inlinable
    static func semaphore() {
        let (queue, ran, semaphore) = (S.makeQueue(), AtomicCount(), S.makeSemaphore())
        Harness.measureTrips {
            S.submit(to: queue) {
                ran.add()
                S.signal(semaphore)
            }
            S.wait(for: semaphore)
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    @inlinable
    static func condition() {
        let (queue, ran, gate) = (S.makeQueue(), AtomicCount(), ConditionGate())
        Harness.measureTrips {
            S.submit(to: queue) {
                ran.add()
                gate.open()
            }
            gate.pass()
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    @inlinable
    static func pipe() {
        let (queue, ran, gate) = (S.makeQueue(), AtomicCount(), PipeGate())
        Harness.measureTrips {
            S.submit(to: queue) {
                ran.add()
                gate.open()
            }
            gate.pass()
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    @inlinable
    public static func continuation() {
        let (queue, ran) = (S.makeQueue(), AtomicCount())
        trips(on: S.self) {
            await withCheckedContinuation { (waiting: CheckedContinuation<Void, Never>) in
                S.submit(to: queue) {
                    ran.add()
                    waiting.resume()
                }
            }
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    /// Measures the calls of an actor that a serial executor runs; nil: the actor's own.
    public static func actor(on executor: (any SerialExecutor)?) {
        let ran = AtomicCount()
        if let executor {
            let desk = Desk(executor)
            trips(on: S.self) { ran.set(await desk.call()) }
        } else {
            let desk = PlainDesk()
            trips(on: S.self) { ran.set(await desk.call()) }
        }
        Harness.check(UInt64(ran.value - Harness.warmUpTrips))
    }

    /// Measures round trips of a Swift task, and waits for the task.
    public static func trips(on queues: S.Type, _ trip: @escaping @Sendable () async -> Void) {
        let gate = Gate()
        S.startTask {
            await Harness.measureTrips(trip)
            gate.open()
        }
        gate.pass()
    }
}

/// An actor on an executor of the contender.
private actor Desk {
    private let executor: any SerialExecutor
    private var calls = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: any SerialExecutor) { self.executor = executor }

    /// Changes state. Otherwise the compiler removes the switch to the executor.
    func call() -> Int {
        calls += 1
        return calls
    }
}

private actor PlainDesk {
    private var calls = 0

    func call() -> Int {
        calls += 1
        return calls
    }
}
