// interrupt — a long loop that Ctrl-C ends early and in order.
import Dispatch
import Glibc
import OverdriveCore
import Synchronization

let token = CancellationToken()
signal(SIGINT, SIG_IGN)
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "interrupts"))
interrupts.setEventHandler { @Sendable in token.cancel() }
interrupts.resume()
let done = Atomic(0)
print("working: Ctrl-C ends it")
fflush(nil)
do {
    try Parallel(token: token).forEach(0..<1_000_000) { _ throws in
        usleep(1000)
        done.add(1, ordering: .relaxed)
    }
    print("all done")
} catch {
    print("ended early, in order, after \(done.load(ordering: .relaxed) > 0 ? "some" : "no") of it")
}
