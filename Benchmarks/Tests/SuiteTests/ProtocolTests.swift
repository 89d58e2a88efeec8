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

    @Test func aChildIsEndedAtItsLimit() {
        #expect(Child.run(["sleep", "30"], seconds: 1).status == nil)
        #expect(Child.run(["sh", "-c", "echo out; echo err >&2; exit 3"], seconds: 10).status == 3)
    }
}

@Suite struct CountTests {
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
        #expect((0..<8).map { read.isLocked(at: UInt64(0x1000 + 8 * $0)) } == [true, true, true, true, false, false, false, false])
    }
}

@Suite struct ResultTests {
    private func result(_ own: Double, _ other: Double) -> Results {
        func run(_ contender: String, _ sample: Double) -> Run {
            Run(
                workload: "fib", contender: contender, workers: 2, round: 0, parameters: [:], unit: "ns per fork", units: 1,
                samples: [sample, 2 * sample], facts: [:], others: 0, load: 0, failure: nil)
        }
        return Results(
            fingerprint: .current(size: .quick, rounds: 1, budget: nil, workers: [2]),
            runs: [run("overdrive", own), run("libdispatch", other)])
    }

    @Test func ratiosAreCompared() {
        let same = Comparison(result(10, 100), result(20, 210))
        #expect(same.rows.count == 1)
        #expect(same.rows[0].difference < 0.06)
        let other = Comparison(result(10, 100), result(10, 130))
        #expect(other.text(tolerance: 0.15).contains("30 % apart: libdispatch 100, then 130; overdrive 10, then 10"))
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
        fat.runs[0].samples = (0..<1000).map { 123.456789 + Double(($0 * 7919) % 1000) }
        let thin = fat.thinned
        #expect(thin.runs[0].samples.count == 11)
        #expect(thin.figures[0].minimum == 123.5)
        #expect(abs(thin.figures[0].median / fat.figures[0].median - 1) < 0.01)
        #expect(thin.runs[1].samples == fat.runs[1].samples)
    }

    @Test func numbersKeepFourDigits() {
        #expect([0.00123456, 9.99961, 123456, -12.3456, 0].map(Decimals.fourDigits) == [0.001235, 10, 123500, -12.35, 0])
    }

    @Test func decimalsAreShort() {
        #expect([0.0042, 0.5, 12.34, 1234.5, 0].map(Decimals.short) == ["0.004", "0.5", "12.3", "1,235", "0"])
    }
}
