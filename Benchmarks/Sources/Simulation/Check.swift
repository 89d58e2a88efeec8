/// The model beside what was measured, where it can be: with one and two workers.
///
/// What one worker takes is foretold from the serial figure and the cost of a fork, which is fib's; for fib itself it is put in.
public struct Check: Sendable {
    /// A figure: its time in nanoseconds per unit, and the units of a sample.
    public struct Measured: Sendable {
        let time, units: Double

        public init(time: Double, units: Double) {
            self.time = time
            self.units = units
        }
    }

    public let workload: String
    /// In nanoseconds per unit.
    public let times: [(workers: Int, measured: Double, simulated: Double)]

    /// What can be checked with these figures: by workload, contender and number of workers.
    public static func all(_ costs: Costs, _ figure: (String, String, Int) -> Measured?) -> [Check] {
        ["fib", "skynet", "matmul", "loop-imbalanced"].compactMap { workload in
            guard let one = figure(workload, "overdrive", 1), let two = figure(workload, "overdrive", 2),
                let job = job(of: workload, figure)
            else { return nil }
            func simulated(_ workers: Int) -> Double {
                var simulator = Simulator(job, on: Machine(workers: workers, nodes: 1), policy: .engine, costs: costs)
                return simulator.run().nanoseconds / one.units
            }
            return Check(workload: workload, times: [(1, one.time, simulated(1)), (2, two.time, simulated(2))])
        }
    }

    /// The workload as the model knows it: so many pieces, each of what it takes serially.
    private static func job(of workload: String, _ figure: (String, String, Int) -> Measured?) -> Job? {
        if workload == "fib" {
            return figure("fib", "overdrive", 1).map { .fib(n: Job.fib(ofForks: $0.units), block: 10) }
        }
        guard let serial = figure(workload, "serial", 1) else { return nil }
        let isImbalanced = workload == "loop-imbalanced"
        // A hundredth takes fifty times as long.
        return .loop(leaves: Int(serial.units), nanoseconds: serial.time / (isImbalanced ? 1.49 : 1), imbalanced: isImbalanced)
    }
}
