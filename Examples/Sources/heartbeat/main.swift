// heartbeat — a timer that beats three times, and a closure that is called off before its time.
import OverdriveCore
import Synchronization

let queue = TaskQueue.serial(label: "heart")
let over = WaitGroup()
over.enter()
let beats = Atomic(0)
queue.every(.milliseconds(5)) { tick in
    guard beats.add(1, ordering: .relaxed).newValue == 3 else { return }
    tick.timer.cancel()
    over.leave()
}
let reminder = queue.asyncAfter(.seconds(600)) { print("never") }
over.wait()
let calledOff = reminder.cancel() == .prevented
print("beats \(beats.load(ordering: .relaxed)), called off: \(calledOff)")
