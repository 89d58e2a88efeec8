internal import Glibc
internal import Synchronization

/// Runs a plan on an engine: workers read, the main thread writes.
///
/// Every worker that ends a unit takes its place in order and hands out the next one, so that at most
/// `unitLimit` units are under way and at most `outputLimit` bytes wait for the main thread.
final class ChecksumRun<Work: Plan>: Sendable {
    enum Ending: Equatable {
        case finished
        case interrupted
        /// Standard output took no more, for the reason that this `errno` gives.
        case outputFailed(Int32)
    }

    /// Results that wait for the main thread, in bytes, before workers hand out nothing more.
    private static var outputLimit: Int { 1 << 20 }
    /// Results that are worth waking the main thread for, in bytes.
    private static var outputWorthWriting: Int { 1 << 16 }
    /// How long results may wait otherwise, and how often the bar moves, in milliseconds.
    private static var tick: Int32 { 50 }
    /// How long a stop may take, in milliseconds, before the process ends regardless.
    private static var patience: Int { 50 }

    private struct State {
        let plan: Work
        var underWay = 0
        var output = Bytes()

        var isFinished: Bool { underWay == 0 && plan.isFinished }
    }

    private let engine: any Engine
    private let reader: FileReader
    private let unitLimit: Int
    private let wakeup: Wakeup
    /// Whether the reader has nothing to do after this run.
    private let isLast: Bool
    private let state: Mutex<State>

    init(_ plan: sending Work, on engine: any Engine, reader: FileReader, wakeup: Wakeup, isLast: Bool = true) {
        self.isLast = isLast
        self.engine = engine
        self.reader = reader
        self.wakeup = wakeup
        unitLimit = 8 + 4 * engine.workerCount
        var first = State(plan: plan)
        plan.begin(into: &first.output)
        state = Mutex(first)
    }

    /// Looks at the plan, under the lock.
    func withPlan<R: Sendable>(_ body: (Work) -> R) -> R {
        state.withLock { body($0.plan) }
    }

    /// Runs the plan to its end, from the main thread.
    ///
    /// - Parameter progress: Called about 20 times a second, before results are written to a terminal
    ///   with false, after that with true.
    func run(progress: (_ isShown: Bool) -> Void) -> Ending {
        var results = ResultStream()
        submitUnits()
        while true {
            wakeup.wait(milliseconds: Self.tick)
            if Interrupt.isRequested { return stop(&results) }

            let isFinished = take(into: &results)
            if !results.isEmpty {
                if results.isTerminal { progress(false) }
                let error = results.write { Interrupt.isRequested }
                if error == EINTR { return stop(&results) }
                if error != 0 {
                    reader.stop.set()
                    return .outputFailed(error)
                }
                submitUnits()
            }
            progress(!isFinished)
            if isFinished { break }
        }
        if isLast { reader.stop.set() }  // For the survey, which may still be counting.
        engine.wait()
        return .finished
    }

    /// Ends the run early: workers stop at their next piece, and what is in order by then is written
    /// as far as its reader takes it at once.
    private func stop(_ results: inout ResultStream) -> Ending {
        reader.stop.set()
        for _ in 0..<Self.patience where state.withLock({ $0.underWay > 0 }) {
            usleep(1000)
        }
        _ = take(into: &results)
        results.writeWithoutWaiting()
        return .interrupted
    }

    /// Moves what is in order to `results`; whether that is the last of it.
    private func take(into results: inout ResultStream) -> Bool {
        var output = Bytes()
        let isFinished = state.withLock { state in
            swap(&output, &state.output)
            return state.isFinished
        }
        if !output.isEmpty { results.append(output) }
        return isFinished
    }

    /// Submits units until enough are under way.
    private func submitUnits() {
        while let unit = state.withLock({ takeNext(&$0) }) { submit(unit) }
    }

    private func submit(_ unit: WorkUnit) {
        engine.submit { self.perform(unit) }
    }

    private func perform(_ unit: WorkUnit) {
        if !reader.stop.isSet { unit.perform(with: reader) }

        var isWorthWaking = false
        var next = state.withLock { state in
            state.underWay -= 1
            guard !reader.stop.isSet else { return WorkUnit?.none }
            let before = state.output.count
            state.plan.finish(unit, into: &state.output)
            isWorthWaking =
                before < Self.outputWorthWriting && state.output.count >= Self.outputWorthWriting
                || state.isFinished
            return takeNext(&state)
        }
        if isWorthWaking { wakeup.wake() }
        while let unit = next {
            submit(unit)
            next = state.withLock { takeNext(&$0) }
        }
    }

    private func takeNext(_ state: inout State) -> WorkUnit? {
        guard state.underWay < unitLimit, state.output.count < Self.outputLimit, !reader.stop.isSet,
            let unit = state.plan.next()
        else { return nil }
        state.underWay += 1
        return unit
    }
}
