internal import Dispatch
internal import OverdriveCore

/// A measurement that alternates between Overdrive and libdispatch in one process.
struct Comparison: Sendable {
    /// The name in the table and the JSON.
    let name: String
    /// The description of the measurement, in one sentence.
    let question: String
    /// The unit of the values.
    let unit: Unit
    /// The bar that Overdrive must meet.
    let bar: Bar
    /// The measurement runs in one of this many rounds; slow measurements have a larger number.
    var everyNth = 1

    let overdrive: @Sendable (Contenders) -> Double
    let dispatch: @Sendable (Contenders) -> Double

    enum Unit: String, Sendable {
        case nanosecondsEach = "ns each"
        case microseconds = "µs"
        case milliseconds = "ms"
    }

    /// A bar for the ratio of the two times.
    enum Bar: Sendable {
        /// libdispatch takes at least this many times as long.
        case timesFaster(Double)
        /// Overdrive takes at most this many times as long.
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

/// The two sides of a comparison, with equal numbers of workers and equal kinds of queues.
struct Contenders: Sendable {
    let scheduler: Scheduler
    let queue: TaskQueue
    let dispatchQueue = DispatchQueue(label: "bench", attributes: .concurrent)
    /// The number of closures in a measurement.
    let closures: Int

    init(workers: Int?, closures: Int) throws(SchedulerError) {
        scheduler = try Scheduler(workers: workers, placement: .none, name: "bench")
        queue = TaskQueue(scheduler: scheduler)
        self.closures = closures
    }
}

/// Formats numbers with few digits.
enum Decimals {
    /// Returns a number with at most three significant digits: `0.48`, `15.3`, `482`, `1,450`.
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
