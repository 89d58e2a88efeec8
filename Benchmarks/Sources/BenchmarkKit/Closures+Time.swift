public import CWorkloads

extension Closures where S: TimedQueues {
    @inlinable
    public static var timedEntries: [Harness.Entry] { [("group", groups), ("group-pairs", groupPairs), ("timers", timers), ("timer-arm", timerArm)] }

    /// Many small groups, each with a notification.
    @inlinable
    static func groups() {
        let (queue, n, ran) = (S.makeQueue(), Harness.value("n", 10_000), AtomicCount())
        let all = S.makeGroup(for: queue)
        Harness.measure {
            ran.set(0)
            for _ in 0..<n / 10 {
                let group = S.makeGroup(for: queue)
                for _ in 0..<10 { S.submit(to: queue, in: group) {} }
                S.enter(all)
                S.whenEmpty(group, submitTo: queue) {
                    ran.add()
                    S.leave(all)
                }
            }
            S.wait(for: all)
            return UInt64(10 * ran.value)
        }
    }

    /// Timers that are due within a tenth of a second, all armed at once.
    @inlinable
    static func timers() {
        let (queue, n, ran) = (S.makeQueue(), Harness.value("n", 10_000), AtomicCount())
        let group = S.makeGroup(for: queue)
        Harness.measure {
            ran.set(0)
            let start = S.now
            for i in 0..<n {
                S.enter(group)
                S.submit(to: queue, microseconds: Int(wl_random(UInt64(i)) % 100_000), after: start) {
                    ran.add()
                    S.leave(group)
                }
            }
            S.wait(for: group)
            return UInt64(ran.value)
        }
    }

    /// One thread enters a group and leaves it again.
    @inlinable
    static func groupPairs() {
        let n = Harness.value("n", 100_000)
        let group = S.makeGroup(for: S.makeQueue())
        Harness.measure {
            for _ in 0..<n {
                S.enter(group)
                S.leave(group)
            }
            S.wait(for: group)
            return UInt64(n)
        }
    }

    /// Timers that are armed and called off while many others are armed.
    @inlinable
    static func timerArm() {
        let (queue, n) = (S.makeQueue(), Harness.value("n", 10_000))
        let others = (0..<Harness.value("armed", 100_000)).map { S.arm(on: queue, seconds: 3600 + $0 % 3600) }
        Harness.measure {
            for i in 0..<n { S.cancel(S.arm(on: queue, seconds: 60 + i % 60)) }
            return UInt64(n)
        }
        for other in others { S.cancel(other) }
    }
}
