import Simulation
import Testing

@Suite struct SimulationTests {
    private func outcome(_ job: Job, _ workers: Int, _ policy: Policy = Policy.all[0], nodes: Int = 1) -> Outcome {
        var simulator = Simulator(job, on: Machine(workers: workers, nodes: nodes), policy: policy, costs: Costs())
        return simulator.run()
    }

    @Test(arguments: [
        Job.fib(n: 24, block: 10), .loop(leaves: 1000, nanoseconds: 10_000, imbalanced: true),
    ])
    func oneWorkerTakesExactlyTheWork(_ job: Job) {
        let alone = outcome(job, 1)
        #expect(abs(alone.speedUp - 1) < 1e-6)
        #expect(alone.steals == 0)
    }

    @Test(arguments: Policy.all)
    func nobodyIsFasterThanTheWorkers(_ policy: Policy) {
        for workers in [2, 8, 48] {
            let many = outcome(.loop(leaves: 4096, nanoseconds: 20_000, imbalanced: false), workers, policy, nodes: 2)
            #expect(many.speedUp > 1)
            #expect(many.speedUp <= Double(workers))
        }
    }

    @Test func theSameSeedTellsTheSame() {
        let job = Job.fib(n: 26, block: 12)
        let policy = Policy.all.first { $0.victims == .random } ?? Policy.all[0]
        #expect(outcome(job, 16, policy).nanoseconds == outcome(job, 16, policy).nanoseconds)
    }

    /// One worker has all the work: everybody else finds it, wherever a row of looks begins.
    @Test(arguments: Policy.all)
    func everybodyFindsTheOnlyWork(_ policy: Policy) {
        let many = outcome(.loop(leaves: 4096, nanoseconds: 200_000, imbalanced: false), 48, policy, nodes: 4)
        #expect(many.wakes >= 47)
        #expect(many.speedUp > 40)
    }

    /// Four pieces for 64 workers. Where one searches for all, the others do not lie in wait for what there is not.
    @Test func whoHasNoTokenSleeps() {
        let job = Job.loop(leaves: 4, nanoseconds: 1_000_000, imbalanced: false)
        #expect(outcome(job, 64, .engine).failedSteals < 2000)
        let awake = Policy.all.first { $0.waking == .all } ?? Policy.all[0]
        #expect(outcome(job, 64, awake).wakes >= 63)
        #expect(outcome(job, 64, .engine).wakes < outcome(job, 64, awake).wakes)
    }

    /// What was measured is what the model's own costs make of it: both agree; and where a figure lacks, nothing is checked.
    @Test func aCheckIsOfWhatWasMeasured() throws {
        var costs = Costs()
        costs.fork = 4
        let measured: [String: (units: Double, time: Double)] = [
            "fib overdrive 1": (1_346_268, 4), "fib overdrive 2": (1_346_268, 2), "skynet overdrive 1": (10_000, 7), "skynet overdrive 2": (10_000, 4),
            "skynet serial 1": (10_000, 3), "matmul overdrive 1": (512, 8000), "matmul overdrive 2": (512, 4000),
        ]
        let checks = Check.all(costs) { workload, contender, workers in
            measured["\(workload) \(contender) \(workers)"].map { Check.Measured(time: $0.time, units: $0.units) }
        }
        #expect(checks.map(\.workload) == ["fib", "skynet"])
        for check in checks {
            #expect(check.times.map(\.workers) == [1, 2])
            for time in check.times { #expect(abs(time.simulated / time.measured - 1) < 0.25, "\(check.workload): \(time)") }
        }
        #expect(abs((checks.first?.times.first?.simulated ?? 0) - 4) < 1e-6)
    }

    @Test func wakingEverybodyFloodsTheSubmitter() {
        let job = Job.flood(closures: 20_000, nanoseconds: 2000)
        let all = Policy.all.first { $0.waking == .all } ?? Policy.all[0]
        #expect(outcome(job, 64).speedUp > 10 * outcome(job, 64, all).speedUp)
    }
}
