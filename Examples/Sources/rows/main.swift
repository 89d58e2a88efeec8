// rows — a fast reader and slow writers: the queue's limit holds the reader up, so that memory does not fill.
import OverdriveCore
import Synchronization

let waiting = Atomic(0)
let most = Atomic(0)
let written = Atomic(0)
let writers = TaskQueue(pendingLimit: 64, policy: .wait, label: "writers", maxConcurrentTaskCount: 2)
for _ in 0..<20_000 {
    let now = waiting.add(1, ordering: .relaxed).newValue
    most.max(now, ordering: .relaxed)
    writers.async {
        waiting.subtract(1, ordering: .relaxed)
        written.add(1, ordering: .relaxed)
    }
}
writers.waitUntilAllTasksAreFinished()
print("rows \(written.load(ordering: .relaxed)), at most about 64 waiting: \(most.load(ordering: .relaxed) <= 68)")
