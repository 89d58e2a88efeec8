internal import Glibc

/// The figures of a run.
struct Summary {
    var files: Int
    var bytes: Int
    var seconds: Double

    /// The figures in one sentence.
    var sentence: String {
        "\(Quantity.count(files)) files, \(Quantity.bytes(Double(bytes))) in \(Quantity.seconds(seconds)), \(rate)"
    }

    private var rate: String {
        "\(Quantity.bytes(Double(bytes) / max(seconds, 1e-9)))/s"
    }

    /// Prints the figures of the run and the engine to standard error, one on a line.
    func printTable(engine: any Engine, peakHeld: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let rows: [(name: String, value: String)] = [
            ("engine", engine.name),
            ("workers", "\(engine.workerCount)"),
            ("files", Quantity.count(files)),
            ("bytes", Quantity.count(bytes)),
            ("time", Quantity.seconds(seconds)),
            ("rate", rate),
            ("CPU, user", Quantity.seconds(Self.seconds(usage.ru_utime))),
            ("CPU, system", Quantity.seconds(Self.seconds(usage.ru_stime))),
            ("peak memory", Quantity.bytes(Double(usage.ru_maxrss) * 1024)),
            ("most results held", Quantity.count(peakHeld)),
        ]
        let width = 24
        let lines = (rows + engine.statistics).map { row in
            row.name + String(repeating: " ", count: max(1, width - row.name.count)) + row.value + "\n"
        }
        StandardError.write(Bytes(ascii: lines.joined()))
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
