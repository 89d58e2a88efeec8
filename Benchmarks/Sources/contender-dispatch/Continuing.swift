internal import BenchmarkKit
internal import Dispatch
internal import Synchronization

/// Forks that fork: a closure per child, and the last child to end goes on with its parent. Nobody blocks.
enum Continuing {
    static var entries: [Harness.Entry] {
        [
            ("fib", {
                let (n, queue) = (Harness.value("n", 20), DispatchQueue.global())
                Harness.measure {
                    let (gate, result) = (Gate(), AtomicCount())
                    fib(n, queue) { value in
                        result.set(value)
                        gate.open()
                    }
                    gate.pass()
                    return UInt64(result.value)
                }
            }),
            ("skynet", {
                let (leaves, queue) = (Harness.value("leaves", 10_000), DispatchQueue.global())
                Harness.measure {
                    let (gate, result) = (Gate(), AtomicCount())
                    skynet(0, leaves, queue) { value in
                        result.set(value)
                        gate.open()
                    }
                    gate.pass()
                    return UInt64(result.value)
                }
            }),
        ]
    }

    /// Adds up what so many children send, and passes the sum on.
    private final class Sum: Sendable {
        private let sum = Atomic(0)
        private let left: AtomicCount
        private let then: @Sendable (Int) -> Void

        init(of count: Int, then: @escaping @Sendable (Int) -> Void) {
            left = AtomicCount(count)
            self.then = then
        }

        func add(_ value: Int) {
            sum.wrappingAdd(value, ordering: .relaxed)
            if left.takeOne() == 0 { then(sum.load(ordering: .relaxed)) }
        }
    }

    private static func fib(_ n: Int, _ queue: DispatchQueue, then: @escaping @Sendable (Int) -> Void) {
        if n < 2 { return then(n) }
        let sum = Sum(of: 2, then: then)
        queue.async { fib(n - 1, queue) { sum.add($0) } }
        fib(n - 2, queue) { sum.add($0) }
    }

    private static func skynet(_ first: Int, _ leaves: Int, _ queue: DispatchQueue, then: @escaping @Sendable (Int) -> Void) {
        if leaves == 1 { return then(first) }
        let sum = Sum(of: 10, then: then)
        for i in 0..<9 {
            queue.async { skynet(first + i * (leaves / 10), leaves / 10, queue) { sum.add($0) } }
        }
        skynet(first + 9 * (leaves / 10), leaves / 10, queue) { sum.add($0) }
    }
}
