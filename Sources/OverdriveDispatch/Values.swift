public import Dispatch
public import OverdriveCore

// Dispatch's own value types serve as they are: nothing of them knows a queue. They have names here so that a program
// that imports this module alone has the whole vocabulary.

/// A time of the machine's clock, which stops while the machine is suspended. Dispatch's type.
public typealias DispatchTime = Dispatch.DispatchTime

/// A time of the wall clock, which somebody may set. Dispatch's own.
public typealias DispatchWallTime = Dispatch.DispatchWallTime

/// How long, or `.never`. Dispatch's own.
public typealias DispatchTimeInterval = Dispatch.DispatchTimeInterval

/// Whether what was waited for came before the time was over. Dispatch's own.
public typealias DispatchTimeoutResult = Dispatch.DispatchTimeoutResult

/// How much a closure matters; a relative priority is kept and means nothing here. Dispatch's own.
public typealias DispatchQoS = Dispatch.DispatchQoS

/// The options of a submission. Dispatch's type.
public typealias DispatchWorkItemFlags = Dispatch.DispatchWorkItemFlags

/// Bytes in several pieces. Dispatch's own.
public typealias DispatchData = Dispatch.DispatchData

/// Gives the main thread to the main queue, and never returns.
///
/// - Threading: The main thread.
public func dispatchMain() -> Never {
    Dispatch.dispatchMain()
}

// MARK: - The engine's terms

extension DispatchQoS {
    /// What a submission asks for; nil: what its queue has. A relative priority has no counterpart.
    var asked: TaskQueue.QoS? { qosClass.band }
}

extension DispatchQoS.QoSClass {
    var band: TaskQueue.QoS? {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .default: .default
        case .utility: .utility
        case .background: .background
        default: nil
        }
    }
}

extension DispatchWorkItemFlags {
    /// `assignCurrentContext` has no counterpart: a closure takes over nothing but a quality of service.
    @usableFromInline
    var engine: TaskQueue.Flags { TaskQueue.Flags(rawValue: UInt32(truncatingIfNeeded: rawValue)) }
}

extension DispatchTime {
    /// On the engine's clock, which is the same one: both are CLOCK_MONOTONIC in nanoseconds.
    var due: Int64 { Int64(clamping: uptimeNanoseconds) }

    /// How long to wait from now on; nil: for ever.
    var fromNow: Duration? {
        guard due != .max else { return nil }
        return .nanoseconds(max(due - DispatchTime.now().due, 0))
    }
}

extension DispatchWallTime {
    /// Nanoseconds since 1970, which libdispatch keeps negated; nil: never.
    var since1970: Int64? {
        self == .distantFuture ? nil : 0 &- Int64(bitPattern: rawValue)
    }

    /// How long to wait from now on, as the wall clock stands; nil: for ever.
    var fromNow: Duration? {
        guard let time = since1970, let now = DispatchWallTime.now().since1970 else { return nil }
        let (left, overflow) = time.subtractingReportingOverflow(now)
        return .nanoseconds(overflow ? 0 : max(left, 0))
    }
}

extension DispatchTimeInterval {
    /// At least 1; nil: never.
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
