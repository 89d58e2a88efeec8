public import CWorkloads

extension Closures where S: TimedQueues {
    @inlinable
    public static var timedEntries: [Harness.Entry] { [("group", groups), ("group-pairs", groupPairs), ("timers", timers), ("timer-arm", timerArm)] }

    /// Many small groups, each with a notification; a pass follows in which the closures take a while and count, and the
    /// notification looks whether all of its group have.
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
        ran.set(0)
        for _ in 0..<n / 10 {
            let (group, inGroup) = (S.makeGroup(for: queue), AtomicCount())
            for _ in 0..<10 {
                S.submit(to: queue, in: group) {
                    wl_nothing(wl_spin(0, 1000))
                    inGroup.add()
                }
            }
            S.enter(all)
            S.whenEmpty(group, submitTo: queue) {
                if inGroup.value == 10 { ran.add(10) }
                S.leave(all)
            }
        }
        S.wait(for: all)
        Harness.check(UInt64(ran.value))
    }

    /// Timers that are due within a tenth of a second, all armed at once; one that comes early is not counted.
    @inlinable
    static func timers() {
        let (queue, n, ran) = (S.makeQueue(), Harness.value("n", 10_000), AtomicCount())
        let group = S.makeGroup(for: queue)
        Harness.measure {
            ran.set(0)
            let (began, start) = (Harness.now, S.now)
            for i in 0..<n {
                let microseconds = Int(wl_random(UInt64(i)) % 100_000)
                S.enter(group)
                S.submit(to: queue, microseconds: microseconds, after: start) {
                    if Harness.now - began >= 1000 * microseconds { ran.add() }
                    S.leave(group)
                }
            }
            S.wait(for: group)
            return UInt64(ran.value)
        }
    }

    /// One thread enters a group and leaves it again; a pass follows in which only the last leave may let somebody go on.
    @inlinable
    static func groupPairs() {
        let (queue, n, gone, gate) = (S.makeQueue(), Harness.value("n", 100_000), AtomicCount(), Gate())
        let group = S.makeGroup(for: queue)
        Harness.measure {
            for _ in 0..<n {
                S.enter(group)
                S.leave(group)
            }
            S.wait(for: group)
            return 0
        }
        for _ in 0..<n { S.enter(group) }
        S.whenEmpty(group, submitTo: queue) {
            gone.add()
            gate.open()
        }
        for _ in 1..<n { S.leave(group) }
        Harness.sleep(microseconds: 10_000)
        let early = gone.value
        S.leave(group)
        gate.pass()
        Harness.check(UInt64(n * (1 - early)))
    }

    /// Timers that are armed and called off while many others are armed; a pass follows in which every other one is
    /// called off and the rest are waited for, and then a little longer, for those that should not come. Who has a million
    /// to take away first is late, not wrong.
    @inlinable
    static func timerArm() {
        let (queue, n, ran) = (S.makeQueue(), Harness.value("n", 10_000), AtomicCount())
        let others = (0..<Harness.value("armed", 100_000)).map { S.arm(on: queue, milliseconds: 3_600_000 + $0) { ran.add() } }
        Harness.measure {
            for i in 0..<n { S.cancel(S.arm(on: queue, milliseconds: 60_000 + i) { ran.add() }) }
            return 0
        }
        for other in others { S.cancel(other) }
        let due = (0..<1000).map { _ in S.arm(on: queue, milliseconds: 300) { ran.add() } }
        for i in stride(from: 0, to: due.count, by: 2) { S.cancel(due[i]) }
        withExtendedLifetime(due) {
            let start = Harness.now
            while ran.value < due.count / 2 && Harness.now - start < 30_000_000_000 { Harness.sleep(microseconds: 10_000) }
            Harness.sleep(microseconds: 300_000)
        }
        Harness.check(ran.value == due.count / 2 ? UInt64(n) : 0)
    }
}
