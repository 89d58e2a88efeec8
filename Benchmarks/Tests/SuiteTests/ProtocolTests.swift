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

    /// After two rounds of the contenders in Fixtures Overdrive has not settled, after five processes it has. What is there already
    /// is not measured again. Who agrees with itself all the time goes on beside it, as a ratio is of the rounds of both.
    @Test func whatHasNotSettledGoesOn() throws {
        let folder = NSTemporaryDirectory() + "/suite-\(getpid())"
        try FileManager.default.copyItem(atPath: fixtures, toPath: folder) // they write beside themselves
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func runs(settle: Int) -> [Run] {
            let fingerprint = Fingerprint.current(size: .quick, rounds: 2, settle: settle, budget: nil, workers: [1])
            return Protocol(
                size: .quick, workers: [1], rounds: 2, workloads: [Workload.named("fib")].compactMap { $0 },
                contenders: ["overdrive", "libdispatch"].compactMap(Contender.named), programs: Programs([folder]), limit: 60, budget: nil, settle: settle
            ).run(journal: Journal(path: folder + "/journal.jsonl", continuing: fingerprint), progress: { _ in })
        }
        #expect(runs(settle: 0).count == 4)
        let both = runs(settle: 20)
        let all = both.filter { $0.contender == "overdrive" }
        // More than five only where the machine was slow during the three that agree.
        #expect(all.count >= 5)
        #expect(all.prefix(5).map(\.round) == [0, 1, 2, 3, 4])
        #expect(Processes(all).near.count == all.count - 2)
        #expect(try String(contentsOfFile: folder + "/count", encoding: .utf8) == "\(all.count)\n")
        // Side by side, but for a last round that the time cut off.
        let beside = both.filter { $0.contender == "libdispatch" }.map(\.round)
        #expect(beside.prefix(5) == [0, 1, 2, 3, 4])
        #expect(abs(beside.count - all.count) <= 1)
        // Three samples at least, which is a contender's own custom: nobody asks for fewer.
        #expect(try String(contentsOfFile: folder + "/asked", encoding: .utf8) == "fib budget_ms=50 n=30 workers=1\n")
    }

    /// An interrupted series goes on with the date of its beginning; nothing that was taken otherwise goes on, nor what has ended.
    @Test func aJournalGoesOnOnlyWithItsOwn() throws {
        let path = NSTemporaryDirectory() + "/journal-\(getpid()).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var fingerprint = Fingerprint.current(size: .quick, rounds: 2, settle: 0, budget: nil, workers: [1], programs: [fixtures + "/contender-dispatch"])
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
        (later.date, later.rounds, later.settle) = ("today", 4, 100)
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
        .current(size: .quick, rounds: 1, settle: 0, budget: nil, workers: [1], programs: programs, build: build)
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
    @Test(arguments: ["result", "full"]) func storedResultsCanBeRead(_ name: String) throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
        let results = try Results(contentsOf: "\(root)/docs/benchmarks/\(name).json")
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
    /// Three processes each, which agree.
    private func result(_ own: Double, _ other: Double) -> Results {
        result(own: [own, own, own], other: [other, other, other])
    }

    /// A process for each minimum.
    private func result(own: [Double], other: [Double], paces: [Double?] = [], cpus: [Double] = []) -> Results {
        func runs(_ contender: String, _ minima: [Double]) -> [Run] {
            minima.enumerated().map { round, minimum in
                Run(
                    workload: "fib", contender: contender, workers: 2, round: round, parameters: ["n": 3], unit: "ns per fork", units: 10,
                    samples: [minimum, 2 * minimum], facts: ["switches": 5, "cpus": round < cpus.count ? cpus[round] : 2], others: 0, load: 0, failure: nil,
                    pace: round < paces.count ? paces[round] : nil)
            }
        }
        return Results(
            fingerprint: .current(size: .quick, rounds: 1, settle: 0, budget: nil, workers: [2]),
            runs: runs("overdrive", own) + runs("libdispatch", other))
    }

    @Test func ratiosAreCompared() {
        let same = Comparison(result(10, 100), result(20, 210))
        #expect(same.rows.count == 1)
        #expect(same.rows[0].difference < 0.06)
        let other = Comparison(result(10, 100), result(10, 130))
        #expect(other.text(tolerance: 0.15).contains("30 % apart: libdispatch 100, then 130 (each of the two settled, and nothing that was recorded differs: "))
        #expect(other.text(tolerance: 0.15).hasSuffix("\n0 of 1 ratios agree within 15 %, 0 of the 1 that had settled in both runs\n"))
    }

    @Test func aMinimumThatOneProcessFoundIsDoubtful() {
        let before = result(own: [10, 10, 10, 10, 10], other: [100, 160, 161, 162, 163])
        #expect(Table(before, workers: 2).text.contains("100 (~10×)"))
        #expect(before.figures.first { $0.contender == "libdispatch" }?.processes.doubt == "1 of 5 processes came near 100, the middle one took 161")
        let after = result(own: [10, 10, 10, 10, 10], other: [158, 160, 161, 162, 163])
        #expect(Table(after, workers: 2).text.contains("158 (15.8×)"))
        let text = Comparison(before, after).text(tolerance: 0.15)
        #expect(text.contains("58 % apart: libdispatch 100, then 158 (only 1 of 5 processes of the first run came near 100, the middle one took 161)"))
        #expect(text.contains("0 of 1 ratios agree"))
    }

    /// The fourth process of Overdrive's has no counterpart, and wins it nothing; its figure it is.
    @Test func aRatioIsOfTheRoundsThatBothHave() {
        let result = result(own: [10, 10, 10, 8], other: [100, 100, 100])
        #expect(Table(result, workers: 2).text.contains("  8          100 (10×)"))
        #expect(Table(result, workers: 2).brief.contains("| 8 | 10× |"))
        #expect(Comparison(result, result).rows.map(\.before) == [10])
        // All of Overdrive's agree thrice, but only one of those that stand beside the other's.
        let lucky = self.result(own: [10, 20, 20, 10, 10], other: [100, 100, 100])
        #expect(lucky.figures.first { $0.contender == "overdrive" }?.processes.isSettled == true)
        #expect(Table(lucky, workers: 2).brief.contains("| ~10× |"))
        #expect(lucky.doubts(apart: [:]).map(\.why) == ["overdrive: 1 of 3 processes came near 10, the middle one took 20"])
        // No round of both: no ratio.
        var strangers = self.result(own: [10], other: [100])
        strangers.runs[1].round = 1
        #expect(strangers.ratios().isEmpty)
        #expect(Table(strangers, workers: 2).brief.contains("| 10 | 100 |"))
    }

    @Test func whatTwoRunsDisagreeOnIsMarked() {
        let text = Comparison(result(10, 100), result(10, 130)).text(tolerance: 0.15)
        let apart = Comparison.apart(in: "Two runs\n\n" + text)
        let key = Ratio.Key(workload: "fib", contender: "libdispatch", workers: 2)
        #expect(apart == [key: "two runs had 10× and 13×"])
        #expect(Table(result(10, 100), workers: 2, apart: Set(apart.keys)).brief.contains("| ~10× |"))
        #expect(Table(result(10, 100), workers: 2, apart: Set(apart.keys)).brief.contains("or a second run was more than 15 % away"))
        #expect(Table(result(10, 100), workers: 2).brief.contains("| 10× |"))
        #expect(result(10, 100).doubts(apart: apart).map(\.why) == ["two runs had 10× and 13×"])
        #expect(Comparison.apart(in: Comparison(result(10, 100), result(10, 101)).text(tolerance: 0.15)).isEmpty)
    }

    /// Where both settled apart, what was counted of the processes tells what they did otherwise.
    @Test func whatProcessesDidOtherwiseIsNamed() {
        let before = result(10, 100)
        var after = result(10, 130)
        for index in after.runs.indices where after.runs[index].contender == "libdispatch" { after.runs[index].facts["switches"] = 40 }
        #expect(Comparison(before, after).text(tolerance: 0.15)
            .contains("(each of the two settled; 5 times fell asleep a sample in the first, 40 in the second)"))
    }

    @Test func theFooterTellsOfSmallerJobsAndOfMoreWorkersThanCPUs() {
        var result = result(10, 100)
        #expect(!Table(result, workers: 2).text.contains("Smaller jobs"))
        for index in result.runs.indices where result.runs[index].contender == "libdispatch" { result.runs[index].parameters = ["n": 2] }
        result.fingerprint.cpus = 2
        #expect(Table(result, workers: 2).text.contains(" had libdispatch in fib. "))
        #expect(!Table(result, workers: 2).text.contains("more workers than CPUs"))
        result.fingerprint.cpus = 1
        #expect(Table(result, workers: 2).text.contains("more workers than CPUs"))
    }

    @Test func twoModesAreSeen() {
        let before = result(own: [10, 10, 10, 10, 10], other: [100, 101, 300, 302, 310])
        let after = result(own: [10, 10, 10, 10, 10], other: [300, 301, 302, 303, 310])
        #expect(before.figures.first { $0.contender == "libdispatch" }?.processes.doubt == "two modes, 100 to 101 (2 of 5 processes) and 300 to 310")
        let text = Comparison(before, after).text(tolerance: 0.15)
        #expect(text.contains("two modes, 100 to 101 (2 of 5 processes of the first run, 0 of 5 of the second) and 300 to 310"))
        // Scattered is not two modes.
        #expect(result(own: [10], other: [100, 130, 170, 230, 300]).figures.first { $0.contender == "libdispatch" }?.processes.modes == nil)
    }

    @Test func threadsOnOneCPUAreSeen() {
        let mixed = result(own: [10, 10, 10], other: [100, 101, 200, 201, 202], cpus: [2, 2, 1, 1, 1])
        #expect(mixed.figures.first { $0.contender == "libdispatch" }?.processes.doubt
            == "two modes, 100 to 101 (2 of 5 processes) and 200 to 202; these with 2 CPUs busy, those with 1")
    }

    @Test func aSlowMachineIsNamed() {
        let fast = result(own: [10, 10, 10], other: [100, 101, 102], paces: [50, 50, 50])
        let slow = result(own: [10, 10, 10], other: [130, 131, 132], paces: [60, 60, 60])
        #expect(Comparison(fast, slow).text(tolerance: 0.15).contains("; the machine was 1.2 times as slow in the second)"))
        let mixed = result(own: [10, 10, 10], other: [100, 120, 130], paces: [50, 60, 60])
        #expect(mixed.figures.first { $0.contender == "libdispatch" }?.processes.doubt?.hasSuffix("the machine was 1.2 times as slow during the others") == true)
    }

    @Test func whoAgreesOnASlowMachineHasNotSettled() {
        let result = result(own: [10, 10, 10], other: [100, 100, 100], paces: [60, 60, 60])
        #expect(result.figures.allSatisfy { $0.processes.isSettled })
        var faster = result
        for index in 0..<3 { faster.runs[index].pace = 50 }
        #expect(faster.figures.first { $0.contender == "overdrive" }?.processes.isSettled == true)
        #expect(faster.figures.first { $0.contender == "libdispatch" }?.processes.doubt?.contains("1.2 times as slow as at its best") == true)
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
        #expect(figure?.processes.all.count == 3)
        let widths: [Int] = result.tsv.split(separator: "\n").map { line in line.split(separator: "\t", omittingEmptySubsequences: false).count }
        // Each figure's line has a column for each name in the first.
        #expect(widths.count == 3 && Set(widths).count == 1)
        #expect(result.tsv.split(separator: "\n")[0].hasSuffix("\tparks_each"))
    }

    @Test func figuresAreMinima() {
        let figure = result(10, 100).figures.first { $0.contender == "libdispatch" }
        #expect(figure?.minimum == 100)
        #expect(figure?.unit == "ns per fork")
    }

    @Test func theTableShowsRatiosAgainstOurs() {
        let text = Table(result(10, 5), workers: 2).text
        #expect(text.contains("5 (0.5×)"))
    }

    @Test func theBriefTableMarksWhoIsFaster() {
        #expect(Table(result(10, 5), workers: 2).brief.contains("| 10 | **0.5×** |"))
        #expect(Table(result(10, 20), workers: 2).brief.contains("| 10 | 2× |"))
    }

    @Test func aThinResultHasTheSameMinimaAndRatios() {
        var fat = result(10, 5)
        let samples: [Double] = (0..<1000).map { 123.456789 + Double(($0 * 7919) % 1000) }
        for index in 0..<3 { fat.runs[index].samples = samples }
        let thin = fat.thinned
        #expect(thin.runs[0].samples.count == 11)
        #expect(thin.figures[0].minimum == 123.5)
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
