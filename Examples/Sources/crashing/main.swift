// crashing fault|kill JOURNAL — 50 items, of which the one numbered 17 ends the process: by a fault of its own, or by SIGKILL.
//
// Called again until it ends well, it shows who is blamed, and after how many attempts; Examples/check does that.
import Glibc
import OverdriveBatch

guard CommandLine.arguments.count == 3 else {
    print("usage: crashing fault|kill JOURNAL")
    exit(64)
}
let isKill = CommandLine.arguments[1] == "kill"
let job = BatchJob(name: "crashing", version: "1", count: 50) { index, _ in
    if index == 17 {
        if isKill { kill(getpid(), SIGKILL) }
        fatalError("item 17")
    }
    usleep(1000)
    return []
}
var options = BatchOptions()
options.journal = CommandLine.arguments[2]
options.parallelism = 2
do {
    let report = try job.run(options)
    print("\(report.done) done")
    for item in report.quarantined { print("\(item.index): \(item.failure)") }
} catch {
    print("crashing: \(error)")
    exit(1)
}
