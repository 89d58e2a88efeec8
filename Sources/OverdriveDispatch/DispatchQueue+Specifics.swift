internal import OverdriveCore

/// Names a value that queues keep for the closures that run on them.
public final class DispatchSpecificKey<T>: Sendable {
    let key = TaskQueue.SpecificKey<Kept<T>>()

    /// A key that no queue has a value for.
    public init() {}
}

/// A value as its queue keeps it. Dispatch lets any type be kept, and leaves to its user what closures do with it.
struct Kept<T>: @unchecked Sendable {
    let value: T
}

extension DispatchQueue {
    /// Sets the queue's value for a key, in place of the previous one; nil removes it.
    public func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {
        taskQueue.setSpecific(key: key.key, value: value.map(Kept.init))
    }

    /// The queue's own value for `key`, or nil.
    public func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
        taskQueue.getSpecific(key: key.key)?.value
    }

    /// The value for `key` of the queue whose closure the calling thread runs, or of what that one is on.
    public static func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
        TaskQueue.getSpecific(key: key.key)?.value
    }
}

/// The place where a caller must be; see ``dispatchPrecondition(condition:)``.
public enum DispatchPredicate: Sendable {
    /// In a closure of that queue, or of one that is on it.
    case onQueue(DispatchQueue)
    /// There, and alone: as a barrier, or on a serial queue.
    case onQueueAsBarrier(DispatchQueue)
    /// Anywhere else.
    case notOnQueue(DispatchQueue)
}

/// Traps unless the caller is where `condition` says, in release builds too.
///
///     dispatchPrecondition(condition: .onQueue(journal))
///
/// - Cost: A few loads.
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {
    check(condition(), at: "")
}

/// The same for a caller that says which place in the source it checks.
public func dispatchPrecondition(
    condition: @autoclosure () -> DispatchPredicate, file: StaticString, line: UInt
) {
    check(condition(), at: " at \(file):\(line)")
}

private func check(_ condition: DispatchPredicate, at place: @autoclosure () -> String) {
    switch condition {
    case .onQueue(let queue) where !queue.isCurrent:
        trap(
            "dispatchPrecondition\(place()): not on the queue (\"\(queue.label)\"), but on "
                + (TaskQueue.currentLabel.map { "\"\($0)\"" } ?? "a thread that runs no queue's closure")
                + ". Submit to the queue.")
    case .onQueueAsBarrier(let queue) where !queue.isCurrent || !queue.taskQueue.isAlone:
        trap("dispatchPrecondition\(place()): not a barrier of the queue (\"\(queue.label)\"). Submit with .barrier.")
    case .notOnQueue(let queue) where queue.isCurrent:
        trap("dispatchPrecondition\(place()): on the queue (\"\(queue.label)\"). Call it elsewhere.")
    default:
        break
    }
}

extension DispatchQueue {
    /// Whether the calling thread runs one of the queue's closures, or one of a queue on it, however deep.
    var isCurrent: Bool {
        taskQueue.isCurrent || standIn?.isCurrent == true || isShared && taskQueue.isUnderCurrent
    }
}
