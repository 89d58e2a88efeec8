internal import BenchmarkKit
internal import NIOPosix

// NIOThreadPool: a queue of closures under a lock for work that blocks. It has no groups, so a count stands in.
let pool = NIOThreadPool(numberOfThreads: Harness.workers)
pool.start()

func spawnOutside() {
    let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
    Harness.measure {
        let all = Countdown(n / submitters * submitters)
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters { pool.submit { _ in all.take() } }
        }
        all.wait()
        return 0
    }
    let (all, ran) = (Countdown(n / submitters * submitters), AtomicCount())
    JoinableThread.each(of: submitters) {
        for _ in 0..<n / submitters {
            pool.submit { _ in
                ran.add()
                all.take()
            }
        }
    }
    all.wait()
    Harness.check(UInt64(ran.value))
}

/// A number, a reference, and the count that stands in for a group.
func spawnCaptures() {
    let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
    Ballast.measure { ballast in
        let all = Countdown(n / submitters * submitters)
        JoinableThread.each(of: submitters) {
            for number in 0..<n / submitters {
                pool.submit { _ in
                    ballast.add(number)
                    all.take()
                }
            }
        }
        all.wait()
    }
}

func spawnInside() {
    let n = Harness.value("n", 100_000)
    Harness.measure {
        let all = Countdown(n)
        pool.submit { _ in
            for _ in 0..<n { pool.submit { _ in all.take() } }
        }
        all.wait()
        return 0
    }
    let (all, ran) = (Countdown(n), AtomicCount())
    pool.submit { _ in
        for _ in 0..<n {
            pool.submit { _ in
                ran.add()
                all.take()
            }
        }
    }
    all.wait()
    Harness.check(UInt64(ran.value))
}

func wake() {
    let ran = AtomicCount()
    Harness.measureTrips {
        let done = Countdown(1)
        pool.submit { _ in
            ran.add()
            done.take()
        }
        done.wait()
    }
    Harness.check(UInt64(ran.value - Harness.warmUpTrips))
}

func chain() {
    let (n, ran, gate) = (Harness.value("n", 10_000), AtomicCount(), Gate())
    @Sendable func link(_ left: Int) {
        ran.add()
        if left == 1 { return gate.open() }
        pool.submit { _ in link(left - 1) }
    }
    Harness.measure {
        ran.set(0)
        pool.submit { _ in link(n) }
        gate.pass()
        return UInt64(ran.value)
    }
}

func blocked() {
    let (n, pause) = (Harness.value("n", 16), Harness.value("ms", 50) * 1000)
    Harness.measure {
        let (all, ran) = (Countdown(n), AtomicCount())
        for _ in 0..<n {
            pool.submit { _ in
                Harness.sleep(microseconds: pause)
                ran.add()
                all.take()
            }
        }
        all.wait()
        return UInt64(ran.value)
    }
}

Harness.main([
    ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
    ("wake", wake), ("chain", chain), ("blocked", blocked),
])
