#if CLI
import FoundationEssentials
import Testing

@testable import overdrive_cli

@Suite("overdrive bench")
struct BenchTests {
    private func samples(_ values: [Double]) -> Samples {
        var samples = Samples()
        for value in values { samples.add(value) }
        return samples
    }

    @Test("takes minimum, median and percentiles of what it measured, in any order")
    func percentiles() {
        let many = samples((1...100).map { Double($0 * 37 % 101) })
        #expect(many.values == (1...100).map(Double.init))
        #expect([many.minimum, many.median, many.percentile(99), many.percentile(100)] == [1, 51, 100, 100])
        #expect(samples([]).minimum.isNaN && samples([]).median.isNaN)
    }

    @Test("a ratio is libdispatch's time over ours, and a bar is met from its number on")
    func bars() throws {
        let comparison = try #require(Comparison.all.first { $0.name == "spawn from outside" })
        for (ours, theirs, isMet) in [([10.0, 20], [60.0, 90], true), ([10], [59], false)] as [([Double], [Double], Bool)] {
            let result = BenchReport.Result(comparison: comparison, overdrive: samples(ours), dispatch: samples(theirs))
            #expect(result.isMet == isMet && result.ratio(\.minimum) == theirs[0] / 10)
        }
        #expect(Comparison.Bar.timesAsLong(1.1).isMet(overdrive: 11, dispatch: 10))
        #expect(!Comparison.Bar.timesAsLong(1.1).isMet(overdrive: 12, dispatch: 10))
        #expect(Fact(name: "", value: 8, unit: "", bar: 8).isMet && !Fact(name: "", value: 8.1, unit: "", bar: 8).isMet)
    }

    @Test(
        "numbers have three digits at most",
        arguments: [(0.0, "0"), (0.484, "0.48"), (9.5, "9.5"), (9.25, "9.25"), (15.34, "15.3"), (20, "20"), (482.4, "482"), (1450, "1,450"), (-1.5, "-1.5"), (.nan, "-")])
    func decimals(value: Double, text: String) {
        #expect(Decimals.short(value) == text)
    }

    private struct Document: Decodable {
        struct Comparison: Decodable { var name: String, overdrive, dispatch: [Double] }
        var workers, closures, rounds: Int
        var comparisons: [Comparison]
    }

    @Test("asks both sides in each round, and slow questions in the first of so many")
    func rounds() throws {
        let outcome = try Command.overdrive(["bench", "--only", "after 2", "--rounds", "3", "--closures", "1000", "--workers", "1", "--json"]).run()
        let document = try JSONDecoder().decode(Document.self, from: Data(outcome.output))
        #expect([document.workers, document.closures, document.rounds] == [1, 1000, 3])
        #expect(document.comparisons.map(\.name) == ["wake after 200 µs", "wake after 20 ms"])
        #expect(document.comparisons.map { [$0.overdrive.count, $0.dispatch.count] } == [[3, 3], [2, 2]])
    }
}
#endif
