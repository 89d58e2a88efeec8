internal import Glibc
internal import Synchronization

/// Runs a plan on an engine: workers read files, and the main thread writes results.
///
/// A worker that finishes a unit adds its result in order and submits the next unit. At most `unitLimit` units are
/// under way, and at most `outputLimit` bytes wait for the main thread.
final class ChecksumRun<Work: Plan>: Sendable {
    enum Ending: Equatable {
        case finished
        case interrupted
        /// Standard output failed with this `errno`.
        case outputFailed(Int32)
    }

    /// The number of result bytes that may wait for the main thread before workers submit no further units.
    private static var outputLimit: Int { 1 << 20 }
    /// The number of result bytes for which the main thread is woken.
    private static var outputWorthWriting: Int { 1 << 16 }
    /// The interval in milliseconds in which smaller results are written and the bar is redrawn.
    private static var tick: Int32 { 50 }
    /// The time in milliseconds for a stop, after which the process exits.
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
    /// Whether this is the last run of the reader.
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

    /// Calls `body` with the plan under the lock.
    func withPlan<R: Sendable>(_ body: (Work) -> R) -> R {
        state.withLock { body($0.plan) }
    }

    /// Runs the plan to its end on the main thread.
    ///
    /// - Parameter progress: Called about 20 times a second: with false before results are written to a terminal, and
    ///   with true afterwards.
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
        if isLast { reader.stop.set() }  // The survey may still be counting.
        engine.wait()
        return .finished
    }

    /// Ends the run early. Workers stop at their next piece, and the results in order are written if the reader
    /// accepts them at once.
    private func stop(_ results: inout ResultStream) -> Ending {
        reader.stop.set()
        for _ in 0..<Self.patience where state.withLock({ $0.underWay > 0 }) {
            usleep(1000)
        }
        _ = take(into: &results)
        results.writeWithoutWaiting()
        return .interrupted
    }

    /// Moves the results in order to `results`. Returns whether these were the last ones.
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
