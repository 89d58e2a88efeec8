// Owns the value types that the drop-in shares with Dispatch, and their conversion to the engine's terms.

public import Dispatch
public import OverdriveCore

// Dispatch's own value types are used unchanged, because none of them refers to a queue. These names make them
// available to programs that import only this module.

/// A time of the monotonic clock, which stops while the machine is suspended. Dispatch's type.
public typealias DispatchTime = Dispatch.DispatchTime

/// A time of the wall clock, which can be set. Dispatch's type.
public typealias DispatchWallTime = Dispatch.DispatchWallTime

/// An interval, or `.never`. Dispatch's type.
public typealias DispatchTimeInterval = Dispatch.DispatchTimeInterval

/// Whether a wait succeeded before its timeout. Dispatch's type.
public typealias DispatchTimeoutResult = Dispatch.DispatchTimeoutResult

/// A quality of service. Its relative priority is kept, but has no effect. Dispatch's type.
public typealias DispatchQoS = Dispatch.DispatchQoS

/// The options of a submission. Dispatch's type.
public typealias DispatchWorkItemFlags = Dispatch.DispatchWorkItemFlags

/// Bytes in several pieces. Dispatch's type.
public typealias DispatchData = Dispatch.DispatchData

/// Runs the main queue on the main thread, and never returns.
///
/// - Threading: The main thread.
public func dispatchMain() -> Never {
    Dispatch.dispatchMain()
}

// MARK: - The engine's terms

extension DispatchQoS {
    /// The quality of service for a submission; nil for the queue's. A relative priority has no counterpart.
    var asked: TaskQueue.QoS? { TaskQueue.QoS(qosClass) }
}

extension DispatchWorkItemFlags {
    /// The corresponding options of `TaskQueue`. `assignCurrentContext` has none: a closure inherits only a quality
    /// of service.
    @usableFromInline
    var engine: TaskQueue.Flags { TaskQueue.Flags(rawValue: UInt32(truncatingIfNeeded: rawValue)) }
}

extension DispatchTime {
    /// The time on the engine's clock, in nanoseconds. Both clocks are CLOCK_MONOTONIC.
    var due: Int64 { Int64(clamping: uptimeNanoseconds) }

    /// The time from now; nil for never.
    var fromNow: Duration? {
        guard due != .max else { return nil }
        return .nanoseconds(max(due - DispatchTime.now().due, 0))
    }
}

extension DispatchWallTime {
    /// The time in nanoseconds since 1970, which libdispatch stores negated; nil for never.
    var since1970: Int64? {
        self == .distantFuture ? nil : 0 &- Int64(bitPattern: rawValue)
    }

    /// The time from now by the current wall clock; nil for never.
    var fromNow: Duration? {
        guard let time = since1970, let now = DispatchWallTime.now().since1970 else { return nil }
        let (left, overflow) = time.subtractingReportingOverflow(now)
        return .nanoseconds(overflow ? 0 : max(left, 0))
    }
}

extension DispatchTimeInterval {
    /// The interval in nanoseconds, at least 1; nil for never.
    var nanoseconds: Int64? {
        let (count, unit): (Int, Int) =
            switch self {
            case .seconds(let count): (count, 1_000_000_000)
            case .milliseconds(let count): (count, 1_000_000)
            case .microseconds(let count): (count, 1000)
            case .nanoseconds(let count): (count, 1)
            default: (.max, .max)
            }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        if overflow { return count < 0 ? 1 : nil }
        return product == .max ? nil : max(Int64(product), 1)
    }
}

extension WaitGroup.WaitResult {
    var dispatched: DispatchTimeoutResult { self == .success ? .success : .timedOut }
}
