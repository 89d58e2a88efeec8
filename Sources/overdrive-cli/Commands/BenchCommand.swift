#if CLI
internal import ArgumentParser
internal import OverdriveCore

/// `overdrive bench`.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compares Overdrive with libdispatch on this machine, in one process.",
        discussion: """
            Each round measures both libraries one after the other, so a machine that is busy for a while \
            slows both down. A ratio is libdispatch's time divided by Overdrive's. The fastest rounds decide whether a limit is met.

            EXIT CODES: 0 printed; 64 wrong usage; 71 no resources; 74 the report could not be written.
            """
    )

    @Option(help: ArgumentHelp("The number of rounds, 1 to 1000.", valueName: "number"))
    var rounds = 10

    @Option(help: ArgumentHelp("The number of closures per measurement, 1,000 to 10,000,000.", valueName: "number"))
    var closures = 1_000_000

    @Option(
        help: ArgumentHelp(
            "Overdrive's workers, 1 to 1024; by default as many as overdrive machine prints.", valueName: "number"))
    var workers: Int?

    @Option(help: ArgumentHelp("Runs only comparisons whose name contains this text.", valueName: "text"))
    var only: String?

    @Flag(help: "Prints one JSON object.")
    var json = false

    func validate() throws {
        try Settings.validate()
        guard (1...1000).contains(rounds) else {
            throw ValidationError("--rounds takes a number from 1 to 1000, not \(rounds).")
        }
        guard (1000...10_000_000).contains(closures) else {
            throw ValidationError("--closures takes a number from 1000 to 10000000, not \(closures).")
        }
        guard workers.map({ (1...EngineName.mostJobs).contains($0) }) ?? true else {
            throw ValidationError(
                "--workers takes a number from 1 to \(EngineName.mostJobs), not \(workers ?? 0).")
        }
        guard !chosen.isEmpty else {
            let names = Comparison.all.map(\.name).joined(separator: ", ")
            throw ValidationError("--only '\(only ?? "")' names no comparison: \(names).")
        }
    }

    private var chosen: [Comparison] {
        Comparison.all.filter { only.map($0.name.contains) ?? true }
    }

    func run() throws {
        let report: BenchReport
        do {
            report = try measure()
        } catch {
            StandardError.say("\(error)")
            throw ExitCode(ExitStatus.system.rawValue)
        }
        let text = json ? try report.json() : report.table
        let error = StandardStreams.write(Bytes(ascii: text)[...], to: 1) { false }
        if error != 0 {
            StandardError.say("cannot write the results: \(sentence(forError: error))")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }

    private func measure() throws(SchedulerError) -> BenchReport {
        let contenders = try Contenders(workers: workers ?? Settings.workers, closures: closures)
        let before = BenchReport.load
        // This measurement comes first, because libdispatch's threads end five seconds after their last work and
        // would disturb it.
        let idle = only == nil ? Fact.idle(contenders) : []
        var samples = chosen.map { _ in (overdrive: Samples(), dispatch: Samples()) }
        for round in 0..<rounds {
            for (index, comparison) in chosen.enumerated() where round % comparison.everyNth == 0 {
                // The order alternates from round to round.
                let order: [Bool] = round % 2 == 0 ? [true, false] : [false, true]
                for ours in order {
                    if ours {
                        samples[index].overdrive.add(comparison.overdrive(contenders))
                    } else {
                        samples[index].dispatch.add(comparison.dispatch(contenders))
                    }
                }
            }
            if StandardError.isTerminal { StandardError.say("round \(round + 1) of \(rounds)") }
        }
        let facts =
            only != nil
            ? [] : try Fact.memory() + Fact.order(workers: workers ?? Settings.workers) + idle
        return BenchReport(
            workers: contenders.scheduler.workerCount, closures: closures, rounds: rounds,
            loads: (before, BenchReport.load),
            results: zip(chosen, samples).map {
                BenchReport.Result(comparison: $0, overdrive: $1.overdrive, dispatch: $1.dispatch)
            },
            facts: facts)
    }
}
#endif
