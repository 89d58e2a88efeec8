import OverdriveCore

let work = TaskQueue.concurrent(label: "work")   // runs on the shared workers; owns no thread
let log = TaskQueue.serial(label: "log")         // runs its closures one at a time, in order
let group = WaitGroup()

for name in ["a.txt", "b.txt", "c.txt"] {
    work.async(group: group) {                   // the closure runs on another thread
        log.async(group: group) { print("indexed \(name)") }
    }
}
group.wait()                                     // in an async function: await group.wait()

let squares = Parallel.map(Array(1...1000)) { $0 * $0 }   // a parallel loop; no chunk size to choose
print("sum of squares: \(squares.reduce(0, +))")
