internal import ArgumentParser
internal import FoundationEssentials
internal import Simulation
internal import SuiteKit

/// `suite simulate`: what the scheduler's policy would do on machines that are not at hand.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Predicts speed-up, steals and wake latency of several policies, on up to 1,024 workers.",
        discussion: "Costs come from a measured result where one is given. What it assumes and leaves out it prints.")

    @Option(help: "A result to take costs from, and to check the model against: PATH.json.")
    var result: String?

    @Option(help: "Where the figures go: PATH.json.")
    var out: String?

    struct Row: Codable {
        let job, policy: String
        let workers, nodes: Int
        let speedUp, wakeLatencyMicroseconds: Double
        let steals, failedSteals, wakes: Int
    }

    struct Report: Codable {
        let costs: Costs
        let rows: [Row]
        let checks, assumptions: [String]
    }

    /// Some seconds of work each (the flood: what one submitter can submit), so that a thousand workers have milliseconds.
    static let jobs: [Job] = [
        .fib(n: 44, block: 21),
        .loop(leaves: 262_144, nanoseconds: 20_000, imbalanced: false),
        .loop(leaves: 262_144, nanoseconds: 10_000, imbalanced: true),
        .flood(closures: 100_000, nanoseconds: 2000),
    ]

    func run() throws {
        let results = try result.map(Results.init(contentsOf:))
        var costs = Costs()
        if let results {
            func figure(_ workload: String, _ contender: String, _ workers: Int?) -> Double? {
                results.figures.first { $0.workload == workload && $0.contender == contender && (workers == nil || $0.workers == workers) }?.time
            }
            if let fork = figure("fib", "overdrive", 1) ?? figure("fib", "overdrive-c", 1) { costs.fork = fork }
            if let trip = figure("wake-parked", "overdrive", nil) { costs.wake = max(1000, 1000 * trip / 2) }
            if let closure = figure("spawn-outside", "overdrive", nil) { costs.submit = closure }
        }
        var rows: [Row] = []
        for job in SimulateCommand.jobs {
            print("\n\(job.name) (simulated): speed-up, steals, from a wake until the woken worker has work")
            print("workers  nodes  " + Policy.all.map(\.name).joined(separator: "  |  "))
            for (workers, nodes) in SimulateCommand.machines {
                var cells: [String] = []
                for policy in Policy.all {
                    var simulator = Simulator(job, on: Machine(workers: workers, nodes: nodes), policy: policy, costs: costs)
                    let outcome = simulator.run()
                    rows.append(Row(
                        job: job.name, policy: policy.name, workers: workers, nodes: nodes, speedUp: outcome.speedUp,
                        wakeLatencyMicroseconds: outcome.wakeLatency / 1000, steals: outcome.steals,
                        failedSteals: outcome.failedSteals, wakes: outcome.wakes))
                    cells.append("\(Decimals.short(outcome.speedUp))× (\(outcome.steals) steals, \(Decimals.short(outcome.wakeLatency / 1000)) µs)")
                }
                print("\(workers)  \(nodes)  " + cells.joined(separator: "  |  "))
            }
        }
        let checks = results.map { SimulateCommand.checks($0, costs) } ?? []
        print("")
        for line in checks + Simulator.assumptions { print(line) }
        if let out {
            File.makeFolder(of: out)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            let report = Report(costs: costs, rows: rows, checks: checks, assumptions: Simulator.assumptions)
            File.write(String(decoding: try encoder.encode(report), as: UTF8.self) + "\n", to: out)
        }
    }

    /// 1 to 64 workers on one node, then more nodes of up to 128.
    static let machines = [
        (1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (64, 1), (64, 4), (128, 2), (128, 4), (256, 4), (512, 8), (1024, 8),
    ]

    /// The model beside what was measured, with one and two workers.
    static func checks(_ results: Results, _ costs: Costs) -> [String] {
        let figures = results.figures
        return Check.all(costs) { workload, contender, workers in
            figures.first { $0.workload == workload && $0.contender == contender && $0.workers == workers }
                .map { Check.Measured(time: $0.time, units: $0.units) }
        }.map { check in
            let times = check.times.map { "\($0.workers) workers measured \(Decimals.short($0.measured)), simulated \(Decimals.short($0.simulated))" }
            return "\(check.workload), ns each: " + times.joined(separator: "; ").replacing("1 workers", with: "1 worker")
        }
    }
}
