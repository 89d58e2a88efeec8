// What is in the cookbook and has no shape among the six: a few lines each.
import Dispatch
import Overdrive
import OverdriveCore
import Synchronization

func cookbook() -> [Program] { [histogram(), rows(), interrupt(), heartbeat(), ledger(), fastest()] }

// MARK: - How often each byte occurs

private let bytes = (0..<32_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
private let none = [Int](repeating: 0, count: 256)

private func count(_ part: Range<Int>, into table: inout [Int]) {
    bytes.withUnsafeBufferPointer { bytes in for index in part { table[Int(bytes[index])] += 1 } }
}

private func weight(_ table: [Int]) -> Int { table.enumerated().reduce(0) { $0 + $1.offset * $1.element } }

private func histogram() -> Program {
    Program(name: "histogram") {
        var table = none
        count(bytes.indices, into: &table)
        return weight(table)
    } dispatch: {
        let parts = 64
        let all = Mutex(none)
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            var table = none
            count(bytes.count * part / parts..<bytes.count * (part + 1) / parts, into: &table)
            all.withLock { all in for value in all.indices { all[value] += table[value] } }
        }
        return weight(all.withLock { $0 })
    } overdrive: {
        let tables = WorkerLocal { none }
        Parallel().forEachChunk(bytes.indices) { part in tables.with { count(part, into: &$0) } }
        return weight(tables.values.reduce(into: none) { all, table in for value in all.indices { all[value] += table[value] } })
    }
}

// MARK: - Twenty thousand rows before which a reader is held up

private let (rowCount, rowRoom) = (20_000, 64)

private func rows() -> Program {
    Program(name: "rows") {
        (0..<rowCount).reduce(0) { $0 + churn(churn($1, rounds: 100), rounds: 1000) }
    } dispatch: {
        let (sum, group, places) = (Total(), DispatchGroup(), DispatchSemaphore(value: rowRoom))
        let writers = DispatchQueue(label: "writers", attributes: .concurrent)
        for number in 0..<rowCount {
            let row = churn(number, rounds: 100)
            places.wait()
            writers.async(group: group) {
                places.signal()
                sum.add(churn(row, rounds: 1000))
            }
        }
        group.wait()
        return sum.value
    } overdrive: {
        onRows()
    }
}

private func onRows() -> Int {
    let sum = Total()
    let writers = TaskQueue(pendingLimit: rowRoom, policy: .wait, label: "writers")
    for number in 0..<rowCount {
        let row = churn(number, rounds: 100)
        writers.async { sum.add(churn(row, rounds: 1000)) }
    }
    writers.waitUntilAllTasksAreFinished()
    return sum.value
}

// MARK: - A loop that could be ended, and is not

private let (steps, stepsAtATime) = (1_000_000, 1000)

private func interrupt() -> Program {
    Program(name: "interrupt") {
        (0..<steps).reduce(0) { $0 + churn($1, rounds: 20) }
    } dispatch: {
        let sum = Total()
        let isEnded = Atomic(false)
        DispatchQueue.concurrentPerform(iterations: steps / stepsAtATime) { part in
            if isEnded.load(ordering: .relaxed) { return }
            sum.add((part * stepsAtATime..<(part + 1) * stepsAtATime).reduce(0) { $0 + churn($1, rounds: 20) })
        }
        return sum.value
    } overdrive: {
        let sum = Total()
        try? Parallel(token: CancellationToken()).forEachChunk(0..<steps) { part throws in
            sum.add(part.reduce(0) { $0 + churn($1, rounds: 20) })
        }
        return sum.value
    }
}

// MARK: - Timers that are called off before their time

private let timers = 10_000

private func heartbeat() -> Program {
    Program(name: "heartbeat", serial: nil) {
        let queue = DispatchQueue(label: "heart")
        let all = (0..<timers).map { _ in
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler {}
            timer.schedule(deadline: .now() + 600)
            timer.activate()
            return timer
        }
        for timer in all { timer.cancel() }
        queue.sync {}
        return timers
    } overdrive: {
        onHeart()
    }
}

private func onHeart() -> Int {
    let queue = TaskQueue.serial(label: "heart")
    let all = (0..<timers).map { _ in queue.asyncAfter(.seconds(600)) {} }
    let calledOff = all.count { $0.cancel() == .prevented }
    queue.sync {}
    return calledOff
}

// MARK: - An actor that callbacks and tasks share

private let entries = 10_000

/// What Dispatch leaves to its user on Linux.
private final class DispatchExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "ledger")
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

private actor DispatchLedger {
    private let executor = DispatchExecutor()
    nonisolated var queue: DispatchQueue { executor.queue }
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var total = 0
    func add(_ amount: Int) { total += amount }
    nonisolated func addFromCallback(_ amount: Int) { queue.async { self.assumeIsolated { $0.add(amount) } } }
}

private actor Ledger {
    nonisolated let queue = TaskQueue.serial(label: "ledger")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }
    private(set) var total = 0
    func add(_ amount: Int) { total += amount }
    nonisolated func addFromCallback(_ amount: Int) { queue.async { self.assumeIsolated { $0.add(amount) } } }
}

private func ledger() -> Program {
    Program(name: "ledger", serial: nil) {
        let ledger = DispatchLedger()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { for _ in 0..<entries / 10 { await ledger.add(1) } } }
            for _ in 0..<entries { ledger.addFromCallback(1) }
        }
        await withCheckedContinuation { done in ledger.queue.async { done.resume() } }
        return await ledger.total
    } overdrive: {
        let ledger = Ledger()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { for _ in 0..<entries / 10 { await ledger.add(1) } } }
            for _ in 0..<entries { ledger.addFromCallback(1) }
        }
        await ledger.queue.drained()
        return await ledger.total
    }
}

// MARK: - The first of three answers

private let races = 2000

private func fastest() -> Program {
    Program(name: "fastest", serial: nil) {
        onDispatch()
    } overdrive: {
        onOverdrive()
    }
}

private func onOverdrive() -> Int {
    let queue = TaskQueue.concurrent(label: "mirrors")
    var won = 0
    for race in 0..<races {
        let mirrors = (0..<3).map { mirror in Overdrive.Task.inline { churn(race + mirror, rounds: 1000) } }
        let answer = Overdrive.Task.race(mirrors)
        queue.add(task: answer)
        if (try? answer.wait()) != nil { won += 1 }
    }
    return won
}

private func onDispatch() -> Int {
    let queue = DispatchQueue(label: "mirrors", attributes: .concurrent)
    var won = 0
    for race in 0..<races {
        let answer = Mutex<Int?>(nil)
        let isOver = DispatchSemaphore(value: 0)
        let mirrors = (0..<3).map { mirror in
            DispatchWorkItem {
                let found = churn(race + mirror, rounds: 1000)
                let isFirst = answer.withLock { answer in
                    defer { answer = answer ?? found }
                    return answer == nil
                }
                if isFirst { isOver.signal() }
            }
        }
        for mirror in mirrors { queue.async(execute: mirror) }
        isOver.wait()
        for mirror in mirrors { mirror.cancel() }
        if answer.withLock({ $0 }) != nil { won += 1 }
    }
    return won
}
