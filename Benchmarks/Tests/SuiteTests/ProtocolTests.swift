import Foundation
import Testing

@testable import SuiteKit

@Suite struct ProtocolTests {
    private let plain = Protocol(
        size: .quick, workers: [1], rounds: 1, workloads: [], contenders: [], programs: Programs([]), limit: 5, budget: nil)

    private func run(_ output: String, status: Int32? = 0, expected: UInt64 = 7) -> Run {
        var run = Run(
            workload: "fib", contender: "serial", workers: 1, round: 0, parameters: [:], unit: "", units: 10, samples: [],
            facts: [:], others: 0, load: 0, failure: nil)
        plain.read(Child.Outcome(output: output, errors: "", status: status), expected: expected, into: &run)
        return run
    }

    @Test func samplesAreDividedByTheirUnits() {
        let run = run("sample 100 7\nsample 200 7\nfact cpus 1.5\nend\n")
        #expect(run.samples == [10, 20])
        #expect(run.facts == ["cpus": 1.5])
        #expect(run.failure == nil)
    }

    @Test func aWrongAnswerCountsForNothing() {
        let run = run("sample 100 7\nsample 200 8\nend\n")
        #expect(run.samples.isEmpty)
        #expect(run.failure == "answered 8 instead of 7")
    }

    @Test func aCheckStandsForTheAnswers() {
        #expect(run("sample 100 0\ncheck 7\nend\n").failure == nil)
        #expect(run("sample 100 0\ncheck 6\nend\n").failure == "answered 6 instead of 7")
    }

    @Test func whatEndsEarlyOrLateFails() {
        #expect(run("sample 100 7\n").failure != nil)
        #expect(run("sample 100 7\nend\n", status: 139).failure != nil)
        #expect(run("sample 100 7\nend\n", status: nil).failure == "took longer than 5 s")
        #expect(run("end\n").failure == "answered nothing")
        #expect(run("", status: 69).failure == nil)
    }

    private let fixtures = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/Fixtures"

    /// A process of each in every round, and who goes first changes. What is there already is not measured again.
    @Test func everybodyHasAllRoundsInTurn() throws {
        let folder = NSTemporaryDirectory() + "/suite-\(getpid())"
        try FileManager.default.copyItem(atPath: fixtures, toPath: folder) // they write beside themselves
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func runs(rounds: Int) -> [String] {
            let fingerprint = Fingerprint.current(size: .quick, rounds: rounds, budget: nil, workers: [1])
            return Protocol(
                size: .quick, workers: [1], rounds: rounds, workloads: [Workload.named("fib")].compactMap { $0 },
                contenders: ["overdrive", "libdispatch"].compactMap(Contender.named), programs: Programs([folder]), limit: 60, budget: nil
            ).run(journal: Journal(path: folder + "/journal.jsonl", continuing: fingerprint), progress: { _ in }).map { "\($0.round) \($0.contender)" }
        }
        let two = ["0 overdrive", "0 libdispatch", "1 libdispatch", "1 overdrive"]
        #expect(runs(rounds: 2) == two)
        #expect(runs(rounds: 3) == two + ["2 overdrive", "2 libdispatch"])
        // Three samples at least, which is a contender's own custom: nobody asks for fewer.
        let asked = String(repeating: "fib budget_ms=50 n=30 workers=1\n", count: 3)
        #expect(try String(contentsOfFile: folder + "/asked", encoding: .utf8) == asked)
    }

    /// An interrupted series goes on with the date of its beginning; nothing that was taken otherwise goes on, nor what has ended.
    @Test func aJournalGoesOnOnlyWithItsOwn() throws {
        let path = NSTemporaryDirectory() + "/journal-\(getpid()).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var fingerprint = Fingerprint.current(size: .quick, rounds: 2, budget: nil, workers: [1], programs: [fixtures + "/contender-dispatch"])
        (fingerprint.commit, fingerprint.date) = ("abc", "yesterday")
        func begun() -> Journal {
            try? FileManager.default.removeItem(atPath: path)
            let journal = Journal(path: path, continuing: fingerprint)
            journal.append(run("sample 100 7\nend\n"))
            return journal
        }
        func goesOn(_ change: (inout Fingerprint) -> Void) -> Bool {
            var other = fingerprint
            change(&other)
            return Journal(path: path, continuing: other).runs.count == 1
        }
        _ = begun()
        var later = fingerprint
        (later.date, later.rounds) = ("today", 4)
        let resumed = Journal(path: path, continuing: later)
        #expect(resumed.runs.map(\.samples) == [[10]])
        #expect(resumed.fingerprint.date == "yesterday")
        #expect(resumed.fingerprint.rounds == 4)
        #expect(!goesOn { $0.commit += "-dirty" })
        _ = begun()
        #expect(!goesOn { $0.programs = "0" })
        // A line that was cut off is lost, and no other.
        _ = begun()
        File.write("{\"contender\":", to: path, appending: true)
        Journal(path: path, continuing: fingerprint).append(run("sample 200 7\nend\n"))
        #expect(Journal(path: path, continuing: fingerprint).runs.map(\.samples) == [[10], [20]])
        begun().complete()
        #expect(!goesOn { $0.date = "today" })
    }

    @Test func aChildIsEndedAtItsLimit() {
        #expect(Child.run(["sleep", "30"], seconds: 1).status == nil)
        #expect(Child.run(["sh", "-c", "echo out; echo err >&2; exit 3"], seconds: 10).status == 3)
    }
}

@Suite struct FingerprintTests {
    private func current(programs: [String] = [], build: Fingerprint? = nil) -> Fingerprint {
        .current(size: .quick, rounds: 1, budget: nil, workers: [1], programs: programs, build: build)
    }

    @Test func programsAreKnownByTheirContents() throws {
        let path = NSTemporaryDirectory() + "/program-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        File.write("one", to: path)
        let one = current(programs: [path]).programs
        #expect(one != nil && one == current(programs: [path]).programs)
        File.write("two", to: path)
        #expect(current(programs: [path]).programs != one)
        #expect(current().programs == nil)
    }

    /// What was built elsewhere has the compilers of there, and this machine's CPUs.
    @Test func aBuildFromElsewhereIsNamed() throws {
        let folder = NSTemporaryDirectory() + "/build-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(Fingerprint.build(beside: folder) == nil)
        var elsewhere = current()
        (elsewhere.commit, elsewhere.swift, elsewhere.rustc, elsewhere.cpu) = ("there", "Swift of there", "rustc of there", "CPU of there")
        try JSONEncoder().encode(elsewhere).write(to: URL(fileURLWithPath: folder + "/build.json"))
        let print = current(build: Fingerprint.build(beside: folder))
        #expect(print.commit == "there")
        #expect(print.swift == "Swift of there")
        #expect(print.rustc == "rustc of there")
        #expect(print.cpu != "CPU of there")
    }

    @Test func theGroupsWeightIsReadInBothVersions() {
        func weight(_ groups: String, _ files: [String: String]) -> String? { Fingerprint.weight(groups: groups) { files[$0] ?? "" } }
        let first = "7:memory:/a\n4:cpu,cpuacct:/a/b\n0::/c\n"
        #expect(weight(first, ["/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.shares": "262144\n"]) == "cpu.shares 262144")
        #expect(weight(first, ["/sys/fs/cgroup/cpu/a/b/cpu.shares": "2048\n"]) == "cpu.shares 2048")
        #expect(weight("3:cpuset:/x\n4:cpu:/\n", ["/sys/fs/cgroup/cpu/cpu.shares": "512\n", "/sys/fs/cgroup/cpuset/x/cpu.shares": "7"]) == "cpu.shares 512")
        #expect(weight("0::/user.slice/a\n", ["/sys/fs/cgroup/user.slice/a/cpu.weight": "10000\n"]) == "cpu.weight 10000")
        #expect(weight("0::/a\n", ["/sys/fs/cgroup/a/cpu.weight": "100\n"]) == nil)
        #expect(weight(first, ["/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.shares": "1024\n"]) == nil)
        #expect(weight("", [:]) == nil)
    }

    /// What was stored before a fingerprint had as much in it.
    @Test(arguments: ["docs/benchmarks/result", "Benchmarks/Results/full"]) func storedResultsCanBeRead(_ name: String) throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
        let results = try Results(contentsOf: "\(root)/\(name).json")
        #expect(results.ratios().count > 100)
        #expect(results.fingerprint.cpus > 0)
    }
}

@Suite struct CountTests {
    /// The gate counts a whole process: the pass that checks, whose closures capture, is not of what it counts.
    @Test func theGateHasNoPassThatChecks() throws {
        let gate = try #require(CountGate.all.first { $0.word == "spawn-inside" })
        #expect(gate.arguments(["n": 5]) == ["spawn-inside", "budget_ms=0", "check=0", "least=1", "most=1", "n=5", "warmup_ms=0", "workers=1"])
        // As the gate runs it: scripts/bench-build --counts makes it.
        let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let contender = "\(package)/.build/release/contender-overdrive"
        try #require(FileManager.default.isExecutableFile(atPath: contender), "scripts/bench-build --counts builds it")
        func lines(_ arguments: [String]) -> [String] {
            Child.run([contender] + arguments, seconds: 60).output.split(separator: "\n")
                .map { line in line.split(separator: " ").first.map(String.init) ?? "" }.filter { $0 != "fact" }
        }
        let arguments = gate.arguments(["n": 5])
        #expect(lines(arguments) == ["sample", "end"])
        #expect(lines(arguments.filter { $0 != "check=0" }) == ["sample", "check", "end"])
    }

    @Test func callgrindsLinesAddUpWithoutWhatCalleesCost() {
        let text = """
            positions: instr line
            events: Ir
            ob=(1) /a
            fn=(1) f
            0x10 1 5
            +4 * 5
            calls=3 0x20 1
            * * 900
            ob=(2) /b
            fn=(2) g
            0x20 1 3
            ob=(1)
            fn=(1)
            0x10 1 2
            """
        let callgrind = Callgrind(text)
        #expect(callgrind.instructions == 15)
        #expect(callgrind.executions["/a"] == [0x10: 7, 0x14: 5])
        #expect(callgrind.executions["/b"] == [0x20: 3])
    }

    @Test func lockedInstructionsAreKnownByTheirBytes() {
        // An ELF header, one loadable segment of address 0x1000 at offset 128, and some code.
        var elf = [UInt8](repeating: 0, count: 192)
        elf.replaceSubrange(0..<6, with: [0x7f, 0x45, 0x4c, 0x46, 2, 1])
        (elf[32], elf[54], elf[56]) = (64, 56, 1)
        (elf[64], elf[64 + 8], elf[64 + 17], elf[64 + 32]) = (1, 128, 0x10, 64)
        let code: [[UInt8]] = [
            [0xf0, 0x48, 0x0f, 0xc1, 0x07], [0x48, 0x87, 0x07], [0x0f, 0xae, 0xf0], [0x66, 0xf0, 0x0f, 0xb1, 0x0f],  // locked
            [0x87, 0xc3], [0x0f, 0xae, 0xe8], [0x48, 0x89, 0x07], [0x90],  // not
        ]
        for (index, bytes) in code.enumerated() { elf.replaceSubrange(128 + 8 * index..<128 + 8 * index + bytes.count, with: bytes) }
        let read = Code(elf: elf)
        let locked: [Bool] = (0..<8).map { (place: Int) -> Bool in read.isLocked(at: UInt64(0x1000 + 8 * place)) }
        #expect(locked == [true, true, true, true, false, false, false, false])
    }
}

@Suite struct ResultTests {
    /// Three rounds, in which both take the same time.
    private func result(_ own: Double, _ other: Double) -> Results {
        result(own: [own, own, own], other: [other, other, other])
    }

    /// A round for each fastest sample.
    private func result(own: [Double], other: [Double]) -> Results {
        func runs(_ contender: String, _ fastest: [Double]) -> [Run] {
            fastest.enumerated().map { round, fastest in
                Run(
                    workload: "fib", contender: contender, workers: 2, round: round, parameters: ["n": 3], unit: "ns per fork", units: 10,
                    samples: [2 * fastest, fastest], facts: ["switches": 5], others: 0, load: 0, failure: nil)
            }
        }
        return Results(
            fingerprint: .current(size: .quick, rounds: 1, budget: nil, workers: [2]), runs: runs("overdrive", own) + runs("libdispatch", other))
    }

    /// The middle round counts, and a lucky process only as an end of the interval.
    @Test func aRatioIsOfRounds() throws {
        let result = result(own: [10, 20, 10, 10], other: [100, 210, 60, 120])
        let ratio = try #require(result.ratios().values.first)
        #expect(ratio.rounds == [6, 10, 10.5, 12])
        #expect(ratio.median == 10.25)
        #expect(Table(result, workers: 2).brief.contains("| 10 | 6–12× |"))
        #expect(Table(result, workers: 2).text.contains("  10         110 · 6–12×"))
    }

    /// A process without a counterpart wins nobody anything; of two rounds nobody says anything.
    @Test func aRatioIsOfThreeRoundsThatBothHave() {
        #expect(Table(result(own: [10, 10, 10, 8], other: [100, 100, 100]), workers: 2).brief.contains("| 10 | 10× |"))
        #expect(Table(result(own: [10, 10, 8], other: [100, 100]), workers: 2).brief.contains("| 10 | 100 |"))
    }

    @Test func whoIsFasterInEveryRoundIsBoldAndWhereNobodyIsThereAreBrackets() {
        func words(_ other: Double...) -> String? { result(own: other.map { _ in 100 }, other: other).ratios().values.first?.words }
        #expect(words(50, 60, 99) == "**0.5–0.99×**")
        #expect(words(50, 60, 99.6) == "(0.5–1×)")
        #expect(words(90, 120, 130) == "(0.9–1.3×)")
        #expect(words(100.4, 101, 102) == "(1–1.02×)")
        #expect(words(105, 105.2, 105.4) == "1.05×")
        #expect(words(234, 250, 1249) == "2.3–12×")
    }

    @Test func twoRunsAgreeWhereEachMedianIsInTheOthersInterval() {
        let before = result(own: [10, 10, 10], other: [90, 100, 120])
        func text(_ other: Double...) -> String { Comparison(before, result(own: other.map { _ in 10 }, other: other)).text }
        let agreed = text(99, 110, 120)
        #expect(agreed.contains("fib  libdispatch  2  10× (9–12)  11× (9.9–12)\n1 of 1 ratios agree"))
        #expect(agreed.contains("narrower than 1 to 1.27\n1 of 1 are on the same side of 1 in every round of both runs, 0 on one in"))
        #expect(text(80, 88, 102).contains("  <- apart\n0 of 1 ratios agree"))
        #expect(text(102.1, 103, 105).contains("  <- apart\n"))
        #expect(text(101.9, 103, 105).contains("\n1 of 1 ratios agree"))
        #expect(text(5, 6, 7).contains("\n0 of 1 are on the same side of 1 in every round of both runs, 1 on one in"))
    }

    @Test func theFooterTellsOfSmallerJobsAndOfMoreWorkersThanCPUs() {
        var result = result(10, 100)
        #expect(!Table(result, workers: 2).text.contains("smaller jobs"))
        for index in result.runs.indices where result.runs[index].contender == "libdispatch" { result.runs[index].parameters = ["n": 2] }
        result.fingerprint.cpus = 2
        #expect(Table(result, workers: 2).text.contains("libdispatch in `fib`. "))
        #expect(!Table(result, workers: 2).text.contains("more workers than CPUs"))
        result.fingerprint.cpus = 1
        #expect(Table(result, workers: 2).text.contains("more workers than CPUs"))
    }

    @Test func countsArePerUnitAndNotOfTimedSamples() {
        var result = result(10, 100)
        result.runs.append(
            Run(
                workload: "fib", contender: "overdrive", workers: 2, round: Run.counting, parameters: ["n": 3], unit: "ns per fork", units: 10,
                samples: [], facts: ["allocations": 30, "switches": 1000], others: 0, load: 0, failure: nil))
        let figure = result.figures.first { $0.contender == "overdrive" }
        #expect(figure?.counts["allocations"] == 3)
        #expect(figure?.counts["switches"] == 0.5)
        #expect(figure?.rounds.count == 3)
        let widths: [Int] = result.tsv.split(separator: "\n").map { line in line.split(separator: "\t", omittingEmptySubsequences: false).count }
        // Each figure's line has a column for each name in the first.
        #expect(widths.count == 3 && Set(widths).count == 1)
        #expect(result.tsv.split(separator: "\n")[0].hasSuffix("\tparks_each"))
    }

    @Test func aThinResultHasTheSameTimesAndRatios() {
        var fat = result(10, 5)
        let samples: [Double] = (0..<1000).map { 123.456789 + Double(($0 * 7919) % 1000) }
        for index in 0..<3 { fat.runs[index].samples = samples }
        let thin = fat.thinned
        #expect(thin.runs[0].samples.count == 11)
        #expect(thin.figures[0].time == 123.5)
        #expect(abs(thin.figures[0].median / fat.figures[0].median - 1) < 0.01)
        #expect(thin.runs[3].samples == fat.runs[3].samples)
    }

    @Test func numbersKeepFourDigits() {
        let digits: [Double] = [0.00123456, 9.99961, 123456, -12.3456, 0].map(Decimals.fourDigits)
        #expect(digits == [0.001235, 10, 123500, -12.35, 0])
    }

    @Test func decimalsAreShort() {
        let short: [String] = [0.0042, 0.5, 12.34, 1234.5, 0].map(Decimals.short)
        #expect(short == ["0.004", "0.5", "12.3", "1,235", "0"])
    }
}
