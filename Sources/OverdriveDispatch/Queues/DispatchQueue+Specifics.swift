// Owns the specific values of queues and `dispatchPrecondition`. Programs call them. They never run a closure.

internal import OverdriveCore

/// Names a value that queues keep for the closures that run on them.
public final class DispatchSpecificKey<T>: Sendable {
    let key = TaskQueue.SpecificKey<SpecificValue<T>>()

    /// Creates a key without values.
    public init() {}
}

/// A value of any type, stored by a queue. As in Dispatch, the program must ensure that its use from several threads
/// is safe.
struct SpecificValue<T>: @unchecked Sendable {
    let value: T
}

extension DispatchQueue {
    /// Sets the queue's value for a key, in place of the previous one; nil removes it.
    public func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {
        taskQueue.setSpecific(key: key.key, value: value.map(SpecificValue.init))
    }

    /// The queue's own value for `key`, or nil.
    public func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
        taskQueue.getSpecific(key: key.key)?.value
    }

    /// The value for `key` of the current queue, or of the nearest target that has one.
    public static func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
        TaskQueue.getSpecific(key: key.key)?.value
    }
}

/// The queue on which a caller must or must not be; see ``dispatchPrecondition(condition:)``.
public enum DispatchPredicate: Sendable {
    /// In a closure of that queue, or of a queue that targets it.
    case onQueue(DispatchQueue)
    /// In a closure that runs alone: a barrier of that queue, or any closure of a serial queue.
    case onQueueAsBarrier(DispatchQueue)
    /// Not in a closure of that queue.
    case notOnQueue(DispatchQueue)
}

/// Traps if `condition` does not hold, also in release builds.
///
///     dispatchPrecondition(condition: .onQueue(journal))
///
/// - Cost: A few loads.
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {
    check(condition(), at: "")
}

/// Traps if `condition` does not hold, with a source location for the message.
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
        trap("dispatchPrecondition\(place()): called from a closure of the queue (\"\(queue.label)\"). Call it elsewhere.")
    default:
        break
    }
}

extension DispatchQueue {
    /// Whether the calling thread runs a closure of the queue, or of a queue that directly or indirectly targets it.
    var isCurrent: Bool {
        taskQueue.isCurrent || standIn?.isCurrent == true || isShared && taskQueue.isUnderCurrent
    }
}
