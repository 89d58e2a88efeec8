// ledger — an actor and a queue's closures that exclude each other: old code and new on the same state.
import OverdriveCore

actor Ledger {
    nonisolated let queue = TaskQueue.serial(label: "ledger")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.actorExecutor.asUnownedSerialExecutor() }
    private(set) var total = 0
    func add(_ amount: Int) { total += amount }
    nonisolated func addFromCallback(_ amount: Int) {
        queue.async { self.assumeIsolated { $0.add(amount) } }
    }
}

let ledger = Ledger()
await withTaskGroup(of: Void.self) { group in
    for _ in 0..<100 { group.addTask { await ledger.add(1) } }
    for _ in 0..<100 { ledger.addFromCallback(1) }
}
await ledger.queue.drained()
print("total \(await ledger.total)")
