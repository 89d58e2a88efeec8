// empty-items [COUNT [JOURNAL]] — what the library itself costs: items that do nothing, 10^7 of them, with a journal.
//
//     swift run -c release --package-path Examples empty-items 10000000 /tmp/empty.journal
import OverdriveBatch

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 10_000_000
let job = BatchJob(name: "empty", version: "1", count: count) { _, _ in [] }
var options = BatchOptions()
options.journal = CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : nil
do {
    let report = try job.run(options)
    print(report.text, terminator: "")
    print("\(Int(report.seconds * 1e9 / Double(max(1, report.ran)))) ns an item")
} catch {
    fatalError("\(error)")
}
