// blocking-calls — forty requests, each of which waits for a slow disk: the CPUs have other work meanwhile.
import Glibc
import OverdriveCore
import Synchronization

let answered = Atomic(0)
let computed = Atomic(0)
let requests = TaskQueue.concurrent(label: "requests", maxConcurrentTaskCount: 40)
let group = WaitGroup()
for _ in 0..<40 {
    requests.async(group: group) {
        blocking { _ = usleep(50_000) }
        answered.add(1, ordering: .relaxed)
    }
}
TaskQueue.global().async(group: group) {
    Parallel.forEach(0..<1000) { _ in computed.add(1, ordering: .relaxed) }
}
group.wait()
print("answered \(answered.load(ordering: .relaxed)), computed \(computed.load(ordering: .relaxed))")
