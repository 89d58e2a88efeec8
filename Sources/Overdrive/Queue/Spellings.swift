// Owns unavailable declarations with the names of Foundation's operations. The compiler uses their messages. No
// program can call them.

public import OverdriveCore

// These names are unavailable, so that the compiler's error names the replacement.

extension TaskQueue {
    @available(*, unavailable, renamed: "add(task:)")
    public func addOperation(_ task: AnyTask) {}

    @available(*, unavailable, message: "write add { … }")
    public func addOperation(_ body: @escaping @Sendable () -> Void) {}

    @available(*, unavailable, renamed: "add(tasks:waitUntilFinished:)")
    public func addOperations(_ tasks: [AnyTask], waitUntilFinished: Bool) {}

    @available(*, unavailable, renamed: "tasks")
    public var operations: [AnyTask] { fatalError("unavailable") }
}

extension AnyTask {
    @available(*, unavailable, renamed: "add(dependency:)")
    public final func addDependency(_ task: AnyTask) {}

    @available(*, unavailable, renamed: "remove(dependency:)")
    public final func removeDependency(_ task: AnyTask) {}

    @available(*, unavailable, message: "write onCompletion { … }, as often as you like")
    public final var completionBlock: (@Sendable () -> Void)? {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    @available(*, unavailable, message: "for a task that finishes after its body has returned, write Task { emit in … } or Task.async { … }")
    public final var isAsynchronous: Bool { fatalError("unavailable") }

    @available(*, unavailable, renamed: "qos")
    public final var qualityOfService: TaskQueue.QoS {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    @available(*, unavailable, message: "there is no order within a quality of service: write task.qos = .userInitiated or .utility")
    public final var queuePriority: _SpelledPriority {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    /// The type of an operation's priorities. The compiler's error names the replacement.
    @_documentation(visibility: internal)
    public enum _SpelledPriority: Sendable {
        case veryLow, low, normal, high, veryHigh
    }
}
