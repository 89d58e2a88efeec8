internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// Runs `body` for each number below `iterations`, on several threads, and returns when all is done.
    ///
    ///     TaskQueue.concurrentPerform(iterations: rows.count) { row in render(row) }
    ///
    /// The caller takes part, so it never waits for a worker to become free, and calls may be nested. Numbers
    /// are handed out in runs that grow shorter towards the end.
    ///
    /// - Parameters:
    ///   - iterations: How many, 0 or more; a negative number traps.
    ///   - body: Called once for each number from 0, in no order.
    /// - Ordering: What happened before is visible to `body`, and what `body` wrote is visible afterwards.
    /// - Threading: Any thread. On a worker the other workers of the same scheduler help, else those of
    ///   ``Scheduler/shared``.
    ///   ``Cancellation`` answers on every thread as it does on the caller's.
    /// - Cost: One allocation, another one in a Swift task, and one submission for each further thread.
    public static func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        let qos = QoS.current ?? .default
        let scheduler = Scheduler.current ?? .shared
        let queue = scheduler === Scheduler.shared ? global(qos: qos) : TaskQueue(qos: qos, scheduler: scheduler)
        queue.concurrentPerform(iterations: iterations, execute: body)
    }

    /// Runs `body` for each number below `iterations` in this queue's order and within its limits, and returns
    /// when all is done.
    ///
    /// The caller takes a place of the queue like ``sync(execute:)``, or keeps the place that it has. As many workers
    /// help as the queue's width allows. On a serial queue the caller does all of the work.
    ///
    /// A helper is pending in the queue until it finds no number, perhaps after this call has returned. It counts in
    /// ``pendingTaskCount`` and in ``cancelAll()``, but not as progress. On a queue with a pending limit, helpers use
    /// only the free room and delay no submitter.
    ///
    /// - Ordering: Calls come in any order; what they wrote is visible when this returns.
    /// - Threading: Any thread, which takes part; where it is not in the queue yet it waits for a place, as of
    ///   ``sync(execute:)``.
    /// - Cost: One submission for each helper, and one locked instruction for each part. A part is a quarter of a
    ///   thread's share of the rest.
    public func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        guard iterations >= 0 else {
            trap("TaskQueue.concurrentPerform(iterations:): negative number (\(iterations)). Choose 0 or more.")
        }
        guard iterations > 0 else { return }
        guard !isCurrent else { return performHere(iterations, body) }
        sync { performHere(iterations, body) }
    }

    /// The caller has its place.
    private func performHere(_ iterations: Int, _ body: @Sendable (Int) -> Void) {
        let threads = min(iterations, threadsAtMost)
        withoutActuallyEscaping(body) { body in
            unsafe withUnsafePointer(to: body) { body in
                let work = CurrentWorkPlace.currentOrTask
                withExtendedLifetime(work) {
                    let loop = unsafe ConcurrentLoop(iterations, threads: threads, body, work)
                    for _ in 1..<threads { help { loop.takePart() } }
                    loop.takePart()
                    loop.wait()
                }
            }
        }
    }

    /// Submits what takes part in a loop, which is no closure of the program's: it is not counted as progress, and does
    /// without a place where a pending limit leaves none.
    private func help(_ body: sending @escaping () -> Void) {
        guard case .engine(let queue, _) = route else { return async(execute: body) }
        if unsafe od_queue_pending_limit(queue) > 0 {
            _ = unsafe trySubmitClosure(body, queue, nil, -1, 0)
        } else {
            unsafe submitClosure(body, queue, nil, -1)
        }
    }

    private var threadsAtMost: Int {
        guard case .engine(_, let scheduler) = route else { return 1 }
        let limit = maxConcurrentTaskCount
        return limit == TaskQueue.unlimited ? scheduler.workerCount : min(limit, scheduler.workerCount)
    }
}

extension Scheduler {
    /// Runs `body` for each number below `iterations` on the caller and this scheduler's workers, and returns
    /// when all is done; see `TaskQueue/concurrentPerform(iterations:execute:)`.
    ///
    /// - Ordering: Calls come in any order; what they wrote is visible when this returns.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A queue, a submission for each worker that may help, and one locked instruction for each part.
    public func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        TaskQueue(qos: TaskQueue.QoS.current ?? .default, scheduler: self)
            .concurrentPerform(iterations: iterations, execute: body)
    }
}

/// A loop whose numbers several threads take. Its caller waits for the numbers, not for the threads: one
/// that comes late finds none left, and does not touch the body, which is gone by then.
@safe private final class ConcurrentLoop: Sendable {
    typealias Body = @Sendable (Int) -> Void

    // Read only by who has taken a number that is not done, for which the caller waits.
    nonisolated(unsafe) private let body: UnsafePointer<Body>
    private let count: Int
    private let threads: Int
    private let next = Atomic(0)
    private let left: Atomic<Int>
    private let allDone = WaitGroup()
    // The caller's, or else its Swift task, who outlive every number. Not kept: who comes late lets go of the loop after the
    // caller has gone on, when a task that lay in its parent's frame (`async let`) may be there no more.
    private unowned(unsafe) let work: (any CurrentWork)?

    init(_ count: Int, threads: Int, _ body: UnsafePointer<Body>, _ work: (any CurrentWork)?) {
        unsafe self.body = body
        unsafe self.work = work
        self.count = count
        self.threads = threads
        left = Atomic(count)
        allDone.enter()
    }

    func takePart() {
        while let numbers = take() {
            if let work = unsafe work {
                work.whileCurrent { run(numbers) }
            } else {
                run(numbers)
            }
            let rest = left.subtract(numbers.count, ordering: .acquiringAndReleasing).newValue
            if rest == 0 { allDone.leave() }
        }
    }

    func wait() {
        allDone.wait()
    }

    private func run(_ numbers: Range<Int>) {
        let body = unsafe body.pointee
        for number in numbers { body(number) }
    }

    /// A quarter of this thread's share of the rest.
    private func take() -> Range<Int>? {
        var first = next.load(ordering: .relaxed)
        while first < count {
            let length = max(1, (count - first) / (4 * threads))
            let (done, now) = next.compareExchange(
                expected: first, desired: first + length, ordering: .relaxed)
            if done { return first..<first + length }
            first = now
        }
        return nil
    }
}
