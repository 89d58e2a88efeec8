// Owns the parallel loop in the style of Dispatch. Programs call it. The caller never waits for a helper that has not
// started.

internal import CScheduler
internal import Synchronization

extension TaskQueue {
    /// Runs `body` for each number below `iterations` in parallel, and returns when all calls have returned.
    ///
    ///     TaskQueue.concurrentPerform(iterations: rows.count) { row in render(row) }
    ///
    /// The caller takes part, so it never waits for a free worker, and calls may nest. Threads take ranges of
    /// numbers, which become shorter towards the end.
    ///
    /// - Parameters:
    ///   - iterations: The number of calls, 0 or more; a negative number traps.
    ///   - body: Called once for each number from 0, in any order.
    /// - Ordering: Writes before the call are visible to `body`, and its writes are visible after the call.
    /// - Threading: Any thread. On a worker, the other workers of the same scheduler help; elsewhere the workers of
    ///   ``Scheduler/shared``. ``Cancellation`` gives the same answer on every thread as on the caller's.
    /// - Cost: One allocation, another one in a Swift task, and one submission for each further thread.
    public static func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        let qos = QoS.current ?? .default
        let scheduler = Scheduler.current ?? .shared
        let queue = scheduler === Scheduler.shared ? global(qos: qos) : TaskQueue(qos: qos, scheduler: scheduler)
        queue.concurrentPerform(iterations: iterations, execute: body)
    }

    /// Runs `body` for each number below `iterations` in this queue's order and within its limits.
    ///
    /// The call returns when all calls of `body` have returned. The caller takes a slot of the queue, as
    /// ``sync(flags:execute:)`` does, or keeps the slot of its closure. As many workers help as the width of the
    /// queue allows. On a serial queue the caller does all of the work.
    ///
    /// A helper stays pending in the queue until it starts and finds no number left, perhaps after the call. It
    /// counts in ``pendingTaskCount`` and in ``cancelAll()``, but not as progress. On a queue with a pending limit,
    /// helpers use only the free room and delay no submitter.
    ///
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread, which takes part in the work. Outside the queue, the caller first waits for a slot,
    ///   as ``sync(flags:execute:)`` does.
    /// - Cost: One submission for each helper, and one locked instruction for each range. A range has a quarter of a
    ///   thread's share of the rest.
    public func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        guard iterations >= 0 else {
            trap("TaskQueue.concurrentPerform(iterations:): negative number (\(iterations)). Choose 0 or more.")
        }
        guard iterations > 0 else { return }
        guard !isCurrent else { return performHere(iterations, body) }
        sync { performHere(iterations, body) }
    }

    /// Runs the loop. The caller already has its slot of the queue.
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

    /// Submits a helper of a loop. A helper does not count as progress, and is dropped if the pending limit leaves no
    /// room.
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
    /// Runs `body` for each number below `iterations` on the caller and this scheduler's workers.
    ///
    /// The call returns when all calls of `body` have returned; see
    /// `TaskQueue/concurrentPerform(iterations:execute:)`.
    ///
    /// - Ordering: Calls run in any order. Their writes are visible after the call.
    /// - Threading: Any thread; the calling thread takes part in the work.
    /// - Cost: One queue, one submission for each worker that may help, and one locked instruction for each range.
    public func concurrentPerform(iterations: Int, execute body: @Sendable (Int) -> Void) {
        TaskQueue(qos: TaskQueue.QoS.current ?? .default, scheduler: self)
            .concurrentPerform(iterations: iterations, execute: body)
    }
}

/// A loop whose numbers several threads take. The caller waits for the numbers, not for the threads. A late helper
/// finds no number left, and so does not touch the body, which no longer exists.
@safe private final class ConcurrentLoop: Sendable {
    typealias Body = @Sendable (Int) -> Void

    // Only a thread with an unfinished number reads it, and the caller waits for each number.
    nonisolated(unsafe) private let body: UnsafePointer<Body>
    private let count: Int
    private let threads: Int
    private let next = Atomic(0)
    private let left: Atomic<Int>
    private let allDone = WaitGroup()
    // The caller's current work, or its Swift task; both outlive every number. Unowned: a late helper may release the
    // loop after the caller has returned. By then, a task in its parent's frame (`async let`) may no longer exist.
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

    /// Takes a quarter of this thread's share of the rest.
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
