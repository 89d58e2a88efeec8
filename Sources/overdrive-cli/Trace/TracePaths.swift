/// The chains of closures that submit each other. A closure depends on the closure that submitted it.
struct TracePaths {
    /// A label's part of the critical path.
    struct Part {
        var steps = 0
        var run: UInt64 = 0, wait: UInt64 = 0
    }

    private struct Step {
        var before: Int32
        var label: Int32
        var submitted, begun: UInt64
    }

    /// Steps of 24 bytes: closures beyond the limit are in no path.
    private static let most = 1 << 22

    private var steps: [Step] = []
    private var last: Int32 = -1
    private var end: UInt64 = 0
    private(set) var leftOut = 0

    /// Returns the number of a closure that has begun; -1 if it is in no path.
    mutating func begin(label: Int, at time: UInt64, submitted: UInt64, by before: Int32) -> Int32 {
        guard steps.count < Self.most else {
            leftOut += 1
            return -1
        }
        steps.append(Step(before: before, label: Int32(label), submitted: min(submitted, time), begun: time))
        return Int32(steps.count - 1)
    }

    mutating func end(_ step: Int32, at time: UInt64) {
        if step >= 0, time >= end { (last, end) = (step, time) }
    }

    /// The chain that ends with the closure that finished last, by labels.
    var critical: (steps: Int, time: UInt64, parts: [Int: Part]) {
        var parts: [Int: Part] = [:], count = 0, at = last, until = end, start = end
        while at >= 0 {
            let step = steps[Int(at)]
            parts[Int(step.label), default: Part()].steps += 1
            parts[Int(step.label), default: Part()].run &+= until - min(step.begun, until)
            parts[Int(step.label), default: Part()].wait &+= step.begun - min(step.submitted, step.begun)
            count += 1
            (until, start) = (step.submitted, min(step.submitted, start))
            at = step.before
        }
        return (count, end - start, parts)
    }
}
