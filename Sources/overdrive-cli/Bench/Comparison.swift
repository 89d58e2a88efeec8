internal import Dispatch
internal import OverdriveCore

/// One question that is put to Overdrive and to libdispatch, in turn, in one process.
struct Comparison: Sendable {
    /// What the table and the JSON call it.
    let name: String
    /// What is measured, in a sentence.
    let question: String
    /// What the numbers count.
    let unit: Unit
    /// What Overdrive promises.
    let bar: Bar
    /// A slow one is asked less often: one of so many rounds.
    var everyNth = 1

    let overdrive: @Sendable (Contenders) -> Double
    let dispatch: @Sendable (Contenders) -> Double

    enum Unit: String, Sendable {
        case nanosecondsEach = "ns each"
        case microseconds = "µs"
        case milliseconds = "ms"
    }

    /// A promise about the ratio of the two.
    enum Bar: Sendable {
        /// libdispatch takes at least so many times as long.
        case timesFaster(Double)
        /// Overdrive takes at most so many times as long.
        case timesAsLong(Double)

        func isMet(overdrive: Double, dispatch: Double) -> Bool {
            switch self {
            case .timesFaster(let factor): dispatch >= factor * overdrive
            case .timesAsLong(let factor): overdrive <= factor * dispatch
            }
        }

        var text: String {
            switch self {
            case .timesFaster(let factor): "at least \(Decimals.short(factor)) times faster"
            case .timesAsLong(let factor): "at most \(Decimals.short(factor)) times as long"
            }
        }
    }
}

/// Both sides of the comparisons, with the same number of workers and the same kind of queue.
struct Contenders: Sendable {
    let scheduler: Scheduler
    let queue: TaskQueue
    let dispatchQueue = DispatchQueue(label: "bench", attributes: .concurrent)
    /// Closures of one measurement.
    let closures: Int

    init(workers: Int?, closures: Int) throws(SchedulerError) {
        scheduler = try Scheduler(workers: workers, placement: .none, name: "bench")
        queue = TaskQueue(scheduler: scheduler)
        self.closures = closures
    }
}

/// Numbers with few digits.
enum Decimals {
    /// Three significant digits at most: `0.48`, `15.3`, `482`, `1,450`.
    static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        switch abs(value) {
        case 100...: return Quantity.count(Int(value.rounded()))
        case 10...: return digits(value, 1)
        default: return digits(value, 2)
        }
    }

    private static func digits(_ value: Double, _ places: Int) -> String {
        let scale = places == 1 ? 10.0 : 100.0
        let scaled = Int((abs(value) * scale).rounded())
        let fraction = String(scaled % Int(scale))
        let padding = String(repeating: "0", count: places - fraction.count)
        var text = "\(value < 0 ? "-" : "")\(scaled / Int(scale)).\(padding)\(fraction)"
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
