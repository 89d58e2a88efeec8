internal import BenchmarkKit
internal import Glibc

// Threads by hand: the pool that everybody writes first (a mutex, a condition, a list of closures), and
// loops cut into as many parts as there are threads.

final class HandMadePool: @unchecked Sendable {
    // Everything below is touched with the mutex held.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let finished = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var closures: [() -> Void] = []
    private var first = 0
    private var pending = 0

    init(workers: Int) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(arrived, nil)
        pthread_cond_init(finished, nil)
        // They live as long as the process.
        for _ in 0..<workers { _ = JoinableThread { self.work() } }
    }

    func submit(_ body: @escaping () -> Void) {
        pthread_mutex_lock(mutex)
        closures.append(body)
        pending += 1
        pthread_mutex_unlock(mutex)
        pthread_cond_signal(arrived)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while pending > 0 { pthread_cond_wait(finished, mutex) }
        pthread_mutex_unlock(mutex)
    }

    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            while first == closures.count { pthread_cond_wait(arrived, mutex) }
            let body = closures[first]
            first += 1
            if first == closures.count {
                closures.removeAll(keepingCapacity: true)
                first = 0
            }
            pthread_mutex_unlock(mutex)
            body()
            pthread_mutex_lock(mutex)
            pending -= 1
            if pending == 0 { pthread_cond_broadcast(finished) }
        }
    }
}

let pool = HandMadePool(workers: Harness.workers)

enum Threads: ForkJoin {
    // Not called: the trees are not among the entries, because this pool has no join.
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) { (a(), b()) }

    static func loop(_ count: Int, _ body: @Sendable (Int) -> Void) {
        let parts = Harness.workers
        withoutActuallyEscaping(body) { body in
            for part in 0..<parts {
                pool.submit {
                    for i in count * part / parts..<count * (part + 1) / parts { body(i) }
                }
            }
            pool.wait()
        }
    }
}

func spawnOutside() {
    let (n, submitters) = (Harness.value("n", 100_000), Harness.value("submitters", 1))
    Harness.measure {
        JoinableThread.each(of: submitters) {
            for _ in 0..<n / submitters { pool.submit {} }
        }
        pool.wait()
        return 0
    }
    let ran = AtomicCount()
    JoinableThread.each(of: submitters) {
        for _ in 0..<n / submitters { pool.submit { ran.add() } }
    }
    pool.wait()
    Harness.check(UInt64(ran.value))
}

func spawnCaptures() {
    let (ballast, n) = (Ballast(), Harness.value("n", 100_000))
    func submit(stride: Int) {
        for number in 0..<n {
            pool.submit {
                if number % stride == 0 { ballast.add() }
            }
        }
        pool.wait()
    }
    Harness.measure {
        submit(stride: n)
        return 0
    }
    let before = ballast.count
    submit(stride: 1)
    Harness.check(UInt64(ballast.count - before))
}

func spawnInside() {
    let n = Harness.value("n", 100_000)
    Harness.measure {
        pool.submit {
            for _ in 0..<n { pool.submit {} }
        }
        pool.wait()
        return 0
    }
    let ran = AtomicCount()
    pool.submit {
        for _ in 0..<n { pool.submit { ran.add() } }
    }
    pool.wait()
    Harness.check(UInt64(ran.value))
}

func wake() {
    Harness.measureTrips {
        pool.submit {}
        pool.wait()
    }
}

func chain() {
    let (n, ran) = (Harness.value("n", 10_000), AtomicCount())
    @Sendable func link(_ left: Int) {
        ran.add()
        if left > 1 { pool.submit { link(left - 1) } }
    }
    Harness.measure {
        ran.set(0)
        pool.submit { link(n) }
        pool.wait()
        return UInt64(ran.value)
    }
}

Harness.main(
    Shapes<Threads>.loops + [
        ("spawn-outside", spawnOutside), ("spawn-captures", spawnCaptures), ("spawn-inside", spawnInside),
        ("wake", wake), ("chain", chain),
    ])
