// Five thousand steps of twenty microseconds, each after two others.
import Dispatch
import Overdrive
import Synchronization

private let steps = 5000

private func needed(by step: Int) -> Set<Int> { Set([step / 2, step - 1 - step % 17].filter { $0 >= 0 && $0 < step }) }

private func work(_ step: Int) -> Int { churn(step, rounds: 10_000) }

func graph() -> Program {
    Program(name: "graph") {
        (0..<steps).reduce(0) { $0 + work($1) }
    } dispatch: {
        onDispatch()
    } overdrive: {
        onOverdrive()
    }
}

/// The counters that Dispatch leaves to its user: a step goes when the last that it needs is done.
private final class Step: Sendable {
    let number: Int
    let missing: Atomic<Int>
    let next = Mutex<[Step]>([])

    init(_ number: Int, missing: Int) {
        self.number = number
        self.missing = Atomic(missing)
    }
}

private func onDispatch() -> Int {
    let (sum, group) = (Total(), DispatchGroup())
    let queue = DispatchQueue(label: "graph", attributes: .concurrent)
    let all = (0..<steps).map { Step($0, missing: needed(by: $0).count) }
    for step in all { for needed in needed(by: step.number) { all[needed].next.withLock { $0.append(step) } } }
    @Sendable func go(_ step: Step) {
        queue.async(group: group) {
            sum.add(work(step.number))
            for next in step.next.withLock({ $0 })
            where next.missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { go(next) }
        }
    }
    go(all[0])
    group.wait()
    return sum.value
}

private func onOverdrive() -> Int {
    let sum = Total()
    var all: [Overdrive.Task<Void>] = []
    for number in 0..<steps {
        let step = Task.inline { sum.add(work(number)) }
        for needed in needed(by: number) { step.add(dependency: all[needed]) }
        all.append(step)
    }
    TaskQueue.concurrent(label: "graph").add(tasks: all, waitUntilFinished: true)
    return sum.value
}
