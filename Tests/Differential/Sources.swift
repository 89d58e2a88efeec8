import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Sources of user data, timers and pipes: sums, last calls, changes of the target, cancels while suspended.
///
/// How many events a timer merges is chance; that it has had enough of them, on the queue it was given last, is not.
func sources(_ dice: inout Dice) -> [String] {
    let (trace, key) = (Trace(), DispatchSpecificKey<Int>())
    let queues = (0..<2).map { number in
        let queue = DispatchQueue(label: "s\(number)", attributes: dice.chance(30) ? .concurrent : [])
        queue.setSpecific(key: key, value: number)
        return queue
    }
    var lines: [String] = []
    switch dice.below(4) {
    case 0:
        let (add, or, replace) = (Count(), Count(), Count())
        let (adds, ors) = (DispatchSource.makeUserDataAddSource(queue: queues[0]), DispatchSource.makeUserDataOrSource(queue: queues[0]))
        let replaces = DispatchSource.makeUserDataReplaceSource(queue: queues[1])
        let last = UInt(1 + dice.below(9))
        adds.setEventHandler { trace.run("add"); add.add(Int(adds.data)) }
        ors.setEventHandler { or.add(Int(ors.data)) }
        replaces.setEventHandler { if replaces.data == last { replace.add() } }
        ors.activate()
        ors.suspend()
        adds.activate()
        replaces.activate()
        let (rounds, threads) = (1 + dice.below(30), 1 + dice.below(4))
        DispatchQueue.concurrentPerform(iterations: threads) { _ in for number in 0..<rounds { adds.add(data: UInt(number)) } }
        for bit in 0..<dice.below(6) { ors.or(data: 1 << UInt(bit)) }
        ors.resume()
        for number in 0..<dice.below(5) { replaces.replace(data: UInt(number) + 10) }
        replaces.replace(data: last)
        let sum = threads * rounds * (rounds - 1) / 2
        lines.append("add \(until { add.value == sum }) \(add.value) replace \(until { replace.value == 1 })")
        ors.or(data: 1 << 20)
        lines.append("or \(until { or.value >= 1 << 20 }) \(or.value)")
        adds.cancel()
        ors.cancel()
        replaces.cancel()
        lines.append("cancelled \(adds.isCancelled) \(ors.isCancelled) \(replaces.isCancelled)")
    case 1, 2:
        let timer = DispatchSource.makeTimerSource(queue: queues[0])
        let (ticks, moved, ended) = (Count(), Count(), DispatchSemaphore(value: 0))
        timer.setEventHandler {
            ticks.add()
            if DispatchQueue.getSpecific(key: key) == 1 { moved.add() }
        }
        timer.setCancelHandler {
            trace.run("cancel handler \(DispatchQueue.getSpecific(key: key) ?? -1)")
            ended.signal()
        }
        if dice.chance(50) {
            timer.schedule(deadline: .now() + .milliseconds(dice.below(3)), repeating: .milliseconds(1))
        } else {
            timer.schedule(wallDeadline: .now() + .milliseconds(dice.below(3)), repeating: .milliseconds(1))
        }
        timer.activate()
        lines.append("ticks \(until { ticks.value >= 2 })")
        let moves = dice.chance(60)
        if moves {
            (timer as? DispatchObject)?.setTarget(queue: queues[1])
            lines.append("moved \(until { moved.value >= 2 })")
        }
        if dice.chance(50) {
            timer.suspend()
            queues[moves ? 1 : 0].sync(flags: .barrier) {}
            usleep(3000)
            let (seen, late) = (ticks.value, dice.chance(50))
            usleep(3000)
            lines.append("still \(ticks.value == seen)")
            if late { timer.cancel() }
            timer.resume()
            if !late { lines.append("again \(until { ticks.value > seen })") }
        }
        timer.cancel()
        lines.append("ended \(ended.wait(timeout: .now() + 10)) \(timer.isCancelled)")
        let seen = ticks.value
        usleep(3000)
        lines.append("over \(ticks.value == seen)")
    default:
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return ["no pipe"] }
        let (reads, writes) = (ends[0], ends[1])
        let chunks = (0..<(1 + dice.below(20))).map { _ in [UInt8](repeating: 7, count: 1 + dice.below(100)) }
        let (bytes, ended, size) = (Count(), DispatchSemaphore(value: 0), chunks.map(\.count).reduce(0, +))
        let source = DispatchSource.makeReadSource(fileDescriptor: reads, queue: queues[0])
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(reads, &buffer, 64)
            if count > 0 { bytes.add(count) }
            // Dispatch may lose events once the write end is closed: the bytes decide, and the end stays open until then.
            if bytes.value == size { source.cancel() }
        }
        source.setCancelHandler {
            close(reads)
            ended.signal()
        }
        if dice.chance(40) { (source as? DispatchObject)?.setTarget(queue: queues[1]) }
        source.activate()
        for chunk in chunks {
            _ = write(writes, chunk, chunk.count)
            if dice.chance(20) { usleep(200) }
        }
        lines.append("ended \(ended.wait(timeout: .now() + 10)) bytes \(bytes.value) cancelled \(source.isCancelled)")
        close(writes)
    }
    return trace.lines.filter { !$0.contains("add") } + lines
}
