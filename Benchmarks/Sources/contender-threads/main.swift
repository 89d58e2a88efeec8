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

/// The pool is its own queue and its own group.
enum Queues: ClosureQueues {
    static func makeQueue() -> HandMadePool { pool }
    static func makeGroup(for queue: HandMadePool) -> HandMadePool { queue }
    static func submit(to queue: HandMadePool, _ body: consuming @escaping @Sendable () -> Void) { queue.submit(body) }
    static func submit(to queue: HandMadePool, in group: HandMadePool, _ body: consuming @escaping @Sendable () -> Void) { queue.submit(body) }
    static func wait(for group: HandMadePool) { group.wait() }
}

enum Threads: ForkJoin {
    // Not called: the trees are not among the entries, because this pool has no join.
    static func two<A: Sendable, B: Sendable>(_ a: @Sendable () -> A, _ b: @Sendable () -> B) -> (A, B) { (a(), b()) }

    static func loop<Body: LoopBody>(_ count: Int, _ body: Body) {
        let parts = Harness.workers
        for part in 0..<parts {
            pool.submit {
                for i in count * part / parts..<count * (part + 1) / parts { body.run(i) }
            }
        }
        pool.wait()
    }
}

Harness.main(Shapes<Threads>.loops + Closures<Queues>.entries + Closures<Queues>.retryEntries)
