import Dispatch
import OverdriveCore

/// A `DispatchSourceTimer`, or a `TaskQueue.Timer` that calls again and again.
enum Ticker: @unchecked Sendable {
    // On Linux a source does not say that it is Sendable; it is made for use by several threads.
    case theirs(any DispatchSourceTimer)
    case dropIn(any DropIn.DispatchSourceTimer)
    case ours(TaskQueue.Timer)

    func cancel() {
        switch self {
        case .theirs(let source): source.cancel()
        case .dropIn(let source): source.cancel()
        case .ours(let timer): timer.cancel()
        }
    }

    var isCancelled: Bool {
        switch self {
        case .theirs(let source): source.isCancelled
        case .dropIn(let source): source.isCancelled
        case .ours(let timer): timer.isCancelled
        }
    }
}

/// A closure that is submitted once, later: `asyncAfter` of a work item, or a timer.
enum Later: @unchecked Sendable {
    case theirs(DispatchWorkItem)
    case dropIn(DropIn.DispatchWorkItem)
    case ours(TaskQueue.Timer)

    func cancel() {
        switch self {
        case .theirs(let item): item.cancel()
        case .dropIn(let item): item.cancel()
        case .ours(let timer): timer.cancel()
        }
    }
}

extension Queue {
    func after(milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: body)
        case .dropIn(let queue): queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: body)
        case .ours(let queue): queue.asyncAfter(.milliseconds(milliseconds), execute: body)
        }
    }

    func later(milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Later {
        switch self {
        case .theirs(let queue):
            let item = DispatchWorkItem(block: body)
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: item)
            return .theirs(item)
        case .dropIn(let queue):
            let item = DropIn.DispatchWorkItem(block: body)
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: item)
            return .dropIn(item)
        case .ours(let queue): return .ours(queue.asyncAfter(.milliseconds(milliseconds), execute: body))
        }
    }

    func afterForEver(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .theirs(let queue): queue.asyncAfter(deadline: .distantFuture, execute: body)
        case .dropIn(let queue): queue.asyncAfter(deadline: .distantFuture, execute: body)
        case .ours(let queue): queue.asyncAfter(.seconds(Int64.max), execute: body)
        }
    }

    /// `body` gets how many ticks were left out since the call before.
    func every(milliseconds: Int, after first: Int? = nil, _ body: @escaping @Sendable (Int) -> Void) -> Ticker {
        switch self {
        case .theirs(let queue):
            guard let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue) as? DispatchSource else {
                preconditionFailure("a timer source is no source")
            }
            source.schedule(
                deadline: .now() + .milliseconds(first ?? milliseconds), repeating: .milliseconds(milliseconds))
            source.setEventHandler { [weak source] in body(Int(source?.data ?? 1) - 1) }
            source.resume()
            return .theirs(source)
        case .dropIn(let queue):
            guard let source = DropIn.DispatchSource.makeTimerSource(flags: .strict, queue: queue) as? DropIn.DispatchSource else {
                preconditionFailure("a timer source is no source")
            }
            source.schedule(
                deadline: .now() + .milliseconds(first ?? milliseconds), repeating: .milliseconds(milliseconds))
            source.setEventHandler { [weak source] in body(Int(source?.data ?? 1) - 1) }
            source.resume()
            return .dropIn(source)
        case .ours(let queue):
            return .ours(
                queue.every(.milliseconds(milliseconds), after: first.map { .milliseconds($0) }) { body($0.missed) })
        }
    }
}
