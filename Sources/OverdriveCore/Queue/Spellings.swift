// Owns unavailable declarations with names from Dispatch and Foundation. Only the compiler uses them, to name the
// replacement in an error. None of them can be called.

extension TaskQueue {
    @available(*, unavailable, message: "DispatchQueue(label:) was serial: write .serial(label:) or .concurrent(label:)")
    public convenience init(label: String, qos: QoS = .default) {
        fatalError("unavailable")
    }

    @available(
        *, unavailable,
        message: "a queue's closure cannot await: write Task(executorPreference: queue.taskExecutor) { … }, or give an actor the queue's actorExecutor"
    )
    public func async(
        group: WaitGroup? = nil, qos: QoS? = nil, flags: Flags = [], execute body: @escaping () async -> Void
    ) {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "write TaskQueue.concurrent(label:maxConcurrentTaskCount:), or .serial(label:) for one at a time")
    public convenience init(label: String, qos: QoS = .default, maxConcurrentTaskCount: Int) {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "write TaskQueue.concurrent(label:scheduler:), or .serial(label:scheduler:) for one at a time")
    public convenience init(
        label: String, qos: QoS = .default, maxConcurrentTaskCount: Int = TaskQueue.unlimited, scheduler: Scheduler
    ) {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "write TaskQueue.concurrent(label:) for .concurrent, TaskQueue.serial(label:) without attributes, and initiallyInactive: true for .initiallyInactive")
    public convenience init(
        label: String, qos: QoS = .default, attributes: _SpelledAttributes, target: TaskQueue? = nil
    ) {
        fatalError("unavailable")
    }

    /// The type of `attributes: .concurrent`, so that the compiler names the replacement.
    @_documentation(visibility: internal)
    public struct _SpelledAttributes: ExpressibleByArrayLiteral, Sendable {
        public init(arrayLiteral: _SpelledAttributes...) {}
        public static var concurrent: _SpelledAttributes { [] }
        public static var initiallyInactive: _SpelledAttributes { [] }
    }

    @available(*, unavailable, message: "a time is a ContinuousClock.Instant, and .now takes no parentheses: write asyncAfter(.seconds(10)) { … } or asyncAfter(deadline: .now + .seconds(10)) { … }")
    @discardableResult
    public func asyncAfter(
        deadline: _SpelledTime, qos: QoS? = nil, flags: Flags = [], execute body: sending @escaping () -> Void
    ) -> Timer {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "timers do not use the wall clock: write asyncAfter(.seconds(10)) { … } or asyncAfter(deadline: .now + .seconds(10)) { … }")
    @discardableResult
    public func asyncAfter(
        wallDeadline: _SpelledTime, qos: QoS? = nil, flags: Flags = [], execute body: sending @escaping () -> Void
    ) -> Timer {
        fatalError("unavailable")
    }

    @available(*, unavailable, renamed: "setTarget(_:)")
    public func setTarget(queue: TaskQueue?) {}

    @available(*, unavailable, message: "use TaskQueue.currentLabel or queue.assertOnQueue()")
    public static var current: TaskQueue? { fatalError("unavailable") }

    @available(*, unavailable, message: "a queue gets its dispatch queue at creation: write TaskQueue(queue:)")
    public var underlyingQueue: AnyObject? {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    @available(*, unavailable, message: "write TaskQueue.concurrentPerform(iterations:execute:), or Parallel.forEach(0..<n) { … }")
    public static func apply(_ iterations: Int, execute body: (Int) -> Void) {}

    @available(*, unavailable, renamed: "cancelAll()")
    public func cancelAllOperations() {}

    @available(*, unavailable, renamed: "waitUntilAllTasksAreFinished()")
    public func waitUntilAllOperationsAreFinished() {}

    @available(*, unavailable, renamed: "maxConcurrentTaskCount")
    public var maxConcurrentOperationCount: Int {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    @available(*, unavailable, renamed: "pendingTaskCount")
    public var operationCount: Int { fatalError("unavailable") }

    @available(*, unavailable, message: "write async(flags: .barrier) { … }")
    public func addBarrierBlock(_ body: @escaping @Sendable () -> Void) {}

    @available(*, unavailable, message: "a queue gets its label at creation: write TaskQueue.concurrent(label:) or TaskQueue.serial(label:)")
    public var name: String? {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    @available(*, unavailable, message: "a queue gets its qos at creation: write TaskQueue(qos:)")
    public var qualityOfService: QoS {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    /// The type of `.now() + 5` as a time or duration, so that the compiler names the replacement.
    @_documentation(visibility: internal)
    public struct _SpelledTime: Sendable {
        private init() {}

        public static func now() -> _SpelledTime { _SpelledTime() }

        public static var distantFuture: _SpelledTime { _SpelledTime() }

        public static func + (time: _SpelledTime, seconds: Double) -> _SpelledTime { time }

        public static func + (time: _SpelledTime, interval: Duration) -> _SpelledTime { time }
    }
}

extension WaitGroup {
    @available(*, unavailable, renamed: "notify(on:execute:)")
    public func notify(
        qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [], queue: TaskQueue, execute body: sending @escaping () -> Void
    ) {}

    @available(*, unavailable, message: "a timeout is a Duration: write wait(timeout: .seconds(5)), or wait() without a limit")
    public func wait(timeout: TaskQueue._SpelledTime) -> WaitResult { fatalError("unavailable") }
}

extension CountingSemaphore {
    @available(*, unavailable, message: "a timeout is a Duration: write wait(timeout: .seconds(5)), or wait() without a limit")
    public func wait(timeout: TaskQueue._SpelledTime) -> WaitResult { fatalError("unavailable") }
}

extension WorkItem {
    @available(*, unavailable, renamed: "notify(on:execute:)")
    public func notify(
        qos: TaskQueue.QoS? = nil, flags: TaskQueue.Flags = [], queue: TaskQueue, execute body: sending @escaping () -> Void
    ) {}

    @available(*, unavailable, message: "a timeout is a Duration: write wait(timeout: .seconds(5)), or wait() without a limit")
    public func wait(timeout: TaskQueue._SpelledTime) -> WaitResult { fatalError("unavailable") }
}
