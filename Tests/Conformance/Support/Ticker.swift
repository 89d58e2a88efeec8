import Dispatch
import OverdriveCore

/// A `DispatchSourceTimer`, or a `TaskQueue.Timer` that calls again and again.
typealias Ticker = Counterpart<DispatchSource, DropIn.DispatchSource, TaskQueue.Timer>

extension Ticker {
    var isCancelled: Bool { on({ $0.isCancelled }, { $0.isCancelled }, { $0.isCancelled }) }

    func cancel() { on({ $0.cancel() }, { $0.cancel() }, { _ = $0.cancel() }) }
}

/// A closure that is submitted once, later: `asyncAfter` of a work item, or a timer.
typealias Later = Counterpart<DispatchWorkItem, DropIn.DispatchWorkItem, TaskQueue.Timer>

extension Later {
    func cancel() { on({ $0.cancel() }, { $0.cancel() }, { _ = $0.cancel() }) }
}

extension Queue {
    func after(milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        let time = soon(milliseconds)
        on(
            { $0.asyncAfter(deadline: time, execute: body) }, { $0.asyncAfter(deadline: time, execute: body) },
            { _ = $0.asyncAfter(.milliseconds(milliseconds), execute: body) })
    }

    func later(milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Later {
        switch self {
        case .theirs(let queue):
            let item = DispatchWorkItem(block: body)
            queue.asyncAfter(deadline: soon(milliseconds), execute: item)
            return .theirs(item)
        case .dropIn(let queue):
            let item = DropIn.DispatchWorkItem(block: body)
            queue.asyncAfter(deadline: soon(milliseconds), execute: item)
            return .dropIn(item)
        case .ours(let queue): return .ours(queue.asyncAfter(.milliseconds(milliseconds), execute: body))
        }
    }

    func afterForEver(_ body: @escaping @Sendable () -> Void) {
        on(
            { $0.asyncAfter(deadline: .distantFuture, execute: body) }, { $0.asyncAfter(deadline: .distantFuture, execute: body) },
            { _ = $0.asyncAfter(.seconds(Int64.max), execute: body) })
    }

    /// `body` gets how many ticks were left out since the call before.
    func every(milliseconds: Int, after first: Int? = nil, _ body: @escaping @Sendable (Int) -> Void) -> Ticker {
        let interval = DispatchTimeInterval.milliseconds(milliseconds)
        switch self {
        case .theirs(let queue):
            guard let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue) as? DispatchSource else {
                preconditionFailure("a timer source is no source")
            }
            source.schedule(deadline: soon(first ?? milliseconds), repeating: interval)
            source.setEventHandler { [weak source] in body(Int(source?.data ?? 1) - 1) }
            source.resume()
            return .theirs(source)
        case .dropIn(let queue):
            guard let source = DropIn.DispatchSource.makeTimerSource(flags: .strict, queue: queue) as? DropIn.DispatchSource else {
                preconditionFailure("a timer source is no source")
            }
            source.schedule(deadline: soon(first ?? milliseconds), repeating: interval)
            source.setEventHandler { [weak source] in body(Int(source?.data ?? 1) - 1) }
            source.resume()
            return .dropIn(source)
        case .ours(let queue):
            return .ours(
                queue.every(.milliseconds(milliseconds), after: first.map { .milliseconds($0) }) { body($0.missed) })
        }
    }
}

extension Surface {
    /// Waits until a closure that is submitted now, for so much later, has run: what was due by then and could go on has
    /// run as well.
    func pass(milliseconds: Int) {
        let isOver = Gate()
        serial().after(milliseconds: milliseconds) { isOver.open() }
        isOver.pass()
        settle()
    }
}
