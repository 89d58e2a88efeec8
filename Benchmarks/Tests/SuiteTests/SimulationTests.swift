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

    @Test func wakingEverybodyFloodsTheSubmitter() {
        let job = Job.flood(closures: 20_000, nanoseconds: 2000)
        let all = Policy.all.first { $0.waking == .all } ?? Policy.all[0]
        #expect(outcome(job, 64).speedUp > 10 * outcome(job, 64, all).speedUp)
    }
}
