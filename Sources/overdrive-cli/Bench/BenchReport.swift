internal import FoundationEssentials
internal import Glibc

/// The results of `overdrive bench`.
struct BenchReport {
    let workers: Int
    let closures: Int
    let rounds: Int
    /// The machine's load average before and after the measurements.
    let loads: (before: Double, after: Double)
    let results: [Result]
    let facts: [Fact]

    struct Result {
        let comparison: Comparison
        let overdrive: Samples
        let dispatch: Samples

        /// Returns the time of libdispatch divided by the time of Overdrive, for the minimum or the median.
        func ratio(_ of: (Samples) -> Double) -> Double { of(dispatch) / of(overdrive) }

        var isMet: Bool {
            comparison.bar.isMet(overdrive: overdrive.minimum, dispatch: dispatch.minimum)
        }
    }

    // MARK: For people

    var table: String {
        let titles = ["comparison", "unit", "overdrive", "libdispatch", "ratio", "(median)", "bar", ""]
        let rows = results.map { result in
            [
                result.comparison.name, result.comparison.unit.rawValue, Self.pair(result.overdrive),
                Self.pair(result.dispatch), Decimals.short(result.ratio(\.minimum)),
                Decimals.short(result.ratio(\.median)), result.comparison.bar.text, result.isMet ? "met" : "missed",
            ]
        }
        var lines = [
            "\(workers) workers, \(Quantity.count(closures)) closures, \(rounds) rounds; minimum / median; "
                + "load of the machine \(Decimals.short(loads.before)) before, \(Decimals.short(loads.after)) after",
            "",
        ]
        lines += TextTable(titles: titles, rows: rows).lines
        if !facts.isEmpty {
            let rows = facts.map {
                [$0.name, Decimals.short($0.value), $0.unit, "at most \(Decimals.short($0.bar))", $0.isMet ? "met" : "missed"]
            }
            lines += [""] + TextTable(titles: ["overdrive alone", "", "", "bar", ""], rows: rows).lines
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func pair(_ samples: Samples) -> String {
        "\(Decimals.short(samples.minimum)) / \(Decimals.short(samples.median))"
    }

    // MARK: For programs

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let document = Document(
            workers: workers, closures: closures, rounds: rounds, loadBefore: loads.before, loadAfter: loads.after,
            comparisons: results.map { result in
                Document.Comparison(
                    name: result.comparison.name, question: result.comparison.question,
                    unit: result.comparison.unit.rawValue, overdrive: result.overdrive.values,
                    dispatch: result.dispatch.values, ratioOfMinima: result.ratio(\.minimum),
                    ratioOfMedians: result.ratio(\.median), bar: result.comparison.bar.text, met: result.isMet)
            },
            facts: facts.map {
                Document.Fact(name: $0.name, value: $0.value, unit: $0.unit, bar: $0.bar, met: $0.isMet)
            })
        return String(decoding: try encoder.encode(document), as: UTF8.self) + "\n"
    }

    private struct Document: Encodable {
        let workers, closures, rounds: Int
        let loadBefore, loadAfter: Double
        let comparisons: [Comparison]
        let facts: [Fact]

        struct Comparison: Encodable {
            let name, question, unit: String
            let overdrive, dispatch: [Double]
            let ratioOfMinima, ratioOfMedians: Double
            let bar: String
            let met: Bool
        }

        struct Fact: Encodable {
            let name: String
            let value: Double
            let unit: String
            let bar: Double
            let met: Bool
        }
    }

    static var load: Double {
        var averages = [0.0]
        return getloadavg(&averages, 1) == 1 ? averages[0] : .nan
    }
}
