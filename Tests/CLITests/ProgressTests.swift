import OverdriveCore
import OverdriveTerminal
import Testing

@testable import overdrive_cli

@Suite("Quantities")
struct QuantityTests {
    @Test(
        "counts have a comma at each thousand",
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-12_345, "-12,345"),
        ])
    func count(number: Int, text: String) {
        #expect(Quantity.count(number) == text)
    }

    @Test(
        "bytes have two digits at least, and never four",
        arguments: [
            (0.0, "0 B"), (999, "999 B"), (999.9, "1.0 kB"), (1000, "1.0 kB"), (12_345, "12.3 kB"),
            (99_960, "100 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (3.8e9, "3.8 GB"), (5e12, "5.0 TB"),
            (7.25e15, "7.3 PB"), (-1, "0 B"),
        ])
    func bytes(number: Double, text: String) {
        #expect(Quantity.bytes(number) == text)
    }

    @Test(
        "durations in words have as many digits as a reader wants",
        arguments: [
            (0, "0 µs"), (999, "999 µs"), (3_450, "3.4 ms"), (1_090_000, "1.09 s"), (61_999_999, "61.99 s"),
        ])
    func words(microseconds: Int, text: String) {
        #expect(Duration.microseconds(microseconds).inWords == text)
    }

    @Test(
        "durations are clocks, rounded up",
        arguments: [
            (0.0, "0:00"), (0.1, "0:01"), (59, "0:59"), (59.5, "1:00"), (754, "12:34"), (3723, "1:02:03"),
            (-5, "0:00"), (.infinity, "99999:59:59"),
        ])
    func duration(seconds: Double, text: String) {
        #expect(Quantity.duration(seconds) == text)
    }

    @Test(
        "seconds keep what can be told apart",
        arguments: [(0.0, "0.00 s"), (3.214, "3.21 s"), (12.34, "12.3 s")])
    func seconds(seconds: Double, text: String) {
        #expect(Quantity.seconds(seconds) == text)
    }
}

@Suite("The rate meter")
struct RateMeterTests {
    @Test("knows nothing before a fifth of a second has passed")
    func early() {
        var meter = RateMeter()
        #expect(meter.rate == nil)
        meter.note(0, at: 0)
        meter.note(100, at: 0.1)
        #expect(meter.rate == nil)
        #expect(meter.secondsLeft(to: 1000) == nil)
    }

    @Test("gives the rate of the last five seconds, not of the whole time")
    func recent() throws {
        var meter = RateMeter()
        for second in 0...10 { meter.note(Double(second) * 100, at: Double(second)) }
        for second in 11...20 { meter.note(1000 + Double(second - 10) * 10, at: Double(second)) }
        let rate = try #require(meter.rate)
        #expect(abs(rate - 10) < 0.001)
        let left = try #require(meter.secondsLeft(to: 1200))
        #expect(abs(left - 10) < 0.001)
        var jumps = RateMeter()
        for second in 0...10 { jumps.note(second < 6 ? 0 : 100, at: Double(second)) }
        #expect(jumps.rate == 20)  // since the fifth second, and not since the sixth
    }

    @Test("gives no end while nothing moves, and none in the past")
    func stuck() {
        var meter = RateMeter()
        meter.note(50, at: 0)
        meter.note(50, at: 1)
        #expect(meter.secondsLeft(to: 100) == nil)
        meter.note(150, at: 2)
        #expect(meter.secondsLeft(to: 100) == 0)
    }

    @Test("stays small however long it runs")
    func memory() {
        var meter = RateMeter()
        for tick in 0..<100_000 { meter.note(Double(tick), at: Double(tick) / 20) }
        #expect(
            Mirror(reflecting: meter).children.allSatisfy {
                ($0.value as? [(Double, Double)] ?? []).count < 110
            })
        #expect(abs((meter.rate ?? 0) - 20) < 0.01)
    }
}

@Suite("The progress bar")
struct ProgressBarTests {
    @Test("says that it is still counting")
    func counting() {
        let bar = ProgressBar()
        let line = bar.line(for: ProgressBar.State(files: 1234, bytes: 5_000_000, total: nil), width: 79)
        #expect(line == "1,234 files  5.0 MB  counting")
    }

    @Test("fills the line, and no more than the line", arguments: 0...200)
    func width(width: Int) {
        let bar = ProgressBar()
        let state = ProgressBar.State(files: 500, bytes: 5_000_000, total: (1000, 10_000_000))
        let line = bar.line(for: state, width: width)
        #expect(line.count <= width)
        if width >= 50 {
            #expect(line.count >= width - 2)
            #expect(line.hasSuffix("50 %"))
            let filled = line.count { $0 == "#" }
            let empty = line.count { $0 == "." } - 1
            #expect(abs(filled - empty) <= 1)
        }
    }

    @Test("never shows more than all, nor fails when there is nothing to do")
    func bounds() {
        let bar = ProgressBar()
        let over = bar.line(for: ProgressBar.State(files: 9, bytes: 900, total: (1, 100)), width: 79)
        #expect(over.hasSuffix("100 %"))
        let none = bar.line(for: ProgressBar.State(files: 0, bytes: 0, total: (0, 0)), width: 79)
        #expect(none.hasSuffix("100 %"))
    }
}

@Suite("Text tables")
struct TextTableTests {
    @Test("have columns as wide as their widest cell")
    func columns() {
        let table = TextTable(titles: ["a", "bbb", "c"], rows: [["1234", "5", "6"], ["7", "8", ""]])
        #expect(table.lines == ["a     bbb  c", "1234  5    6", "7     8"])
    }

    @Test("numbers are listed as the kernel lists them")
    func ranges() {
        #expect(NumberRanges.text([]) == "-")
        #expect(NumberRanges.text([3]) == "3")
        #expect(NumberRanges.text([5, 0, 2, 1, 7, 8, 9]) == "0-2,5,7-9")
        #expect(NumberRanges.text([1, 1, 2]) == "1-2")
    }
}
