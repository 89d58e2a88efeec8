import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Items that are cancelled, waited for and tell; groups entered by hand; semaphores; later closures; Swift tasks.
///
/// Left out, because docs/differences.md lists it: an item used again after a wait, cancelled items that are never
/// submitted, the order of waiters at a semaphore.
func items(_ dice: inout Dice) -> [String] {
    let (trace, group) = (Trace(), DispatchGroup())
    let serial = DispatchQueue(label: "serial"), concurrent = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (told, tasks) = (Count(), DispatchGroup())
    serial.suspend()
    var (list, waited, notified): ([DispatchWorkItem], [Int], Int) = ([], [], 0)
    for number in 0..<(2 + dice.below(8)) {
        let (rest, hasTask, isBarrier) = (pause(&dice), dice.chance(25), dice.chance(20))
        let item = DispatchWorkItem(flags: isBarrier ? .barrier : []) {
            trace.run("i\(number)", rest)
            guard hasTask else { return }
            tasks.enter()
            Task {
                await Task.yield()
                trace.run("t\(number)")
                tasks.leave()
            }
        }
        if dice.chance(40) {
            notified += 1
            item.notify(queue: concurrent) {
                trace.run("n\(number)")
                told.add()
            }
            trace.mustFollow("i\(number)", "n\(number)")
        }
        switch dice.below(4) {
        case 0: serial.async(group: group, execute: item)
        case 1: concurrent.async(group: group, execute: item)
        case 2: serial.asyncAfter(deadline: .now() + .milliseconds(dice.below(3)), execute: item)
        default: serial.async(execute: item)
        }
        if dice.chance(50) { waited.append(number) }
        list.append(item)
    }
    // Only items that the suspended queue holds for certain.
    let held = DispatchWorkItem { trace.run("held") }
    serial.async(execute: held)
    let isCancelled = dice.chance(50)
    if isCancelled { held.cancel() }
    let timedOut = held.isCancelled ? "-" : "\(held.wait(timeout: .now() + .milliseconds(2)))"
    let hand = dice.below(4)
    for _ in 0..<hand { group.enter() }
    let before = group.wait(timeout: .now() + .milliseconds(1)) == .timedOut || hand == 0
    let all = DispatchSemaphore(value: 0)
    for _ in 0..<hand {
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(dice.below(800))) {
            trace.run("hand")
            group.leave()
        }
    }
    group.notify(queue: serial) { trace.run("all"); all.signal() }
    serial.resume()
    for number in waited { list[number].wait() }
    group.wait()
    all.wait()
    tasks.wait()
    let all2 = until { told.value == notified }
    for number in list.indices where !waited.contains(number) { _ = until { trace.order.contains("i\(number)") } }
    serial.sync {}
    tasks.wait()
    let semaphore = DispatchSemaphore(value: dice.below(3))
    let permits = (0..<4).map { _ in semaphore.wait(timeout: .now()) == .success }
    for permit in permits where permit { semaphore.signal() }
    let sum = Count()
    DispatchQueue.concurrentPerform(iterations: dice.below(40)) { sum.add($0) }
    return trace.lines + [
        "held cancelled \(held.isCancelled) \(timedOut) before \(before) told \(all2) permits \(permits) sum \(sum.value)",
        "cancelled \(list.map { $0.isCancelled ? "c" : "-" }.joined())",
    ]
}
