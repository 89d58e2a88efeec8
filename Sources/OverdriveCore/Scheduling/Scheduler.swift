internal import CScheduler
internal import Dispatch
internal import Synchronization

/// A pool of workers that steal work from each other, as many as the machine gives this process.
///
///     let scheduler = try Scheduler(workers: 4, name: "render")
///     let queue = TaskQueue(scheduler: scheduler)
///     await withTaskExecutorPreference(scheduler) { await renderAll() }
///
/// A scheduler has no thread before its first work and uses no CPU while it is idle. Unless it is told how
/// many workers to have, it follows the process's affinity mask, cpuset and control-group quota, and changes
/// of these within a second of activity. One that nobody holds any more runs what was submitted to it, and is gone then; who
/// lets go of it does not wait for that: `shutdown(timeout:)` does.
///
/// - Threading: Safe from any thread.
@safe public final class Scheduler: Sendable {
    // The engine's pool is safe to share between threads; the pointer never changes.
    nonisolated(unsafe) let handle: OpaquePointer

    /// The scheduler's name in thread names and messages.
    public let name: String

    private let isShared: Bool

    // The pool's as well, from which it is taken when that is gone.
    private let owner: PoolOwner

    /// The process's scheduler, started at first use.
    ///
    /// `OVERDRIVE_WORKERS` (1 to 1024), `OVERDRIVE_SPARES` (0 to 1024) and `OVERDRIVE_PLACEMENT` (none, node, core,
    /// automatic) configure it. An invalid value is ignored, with a warning; see ``onWarning(_:)``.
    public static let shared = Scheduler()

    /// What ``setUpShared(spareWorkers:)`` has set, until ``shared`` is there.
    private enum SharedSetUp { case open(spareWorkers: Int), done }
    private static let sharedSetUp = Locked(SharedSetUp.open(spareWorkers: 64))

    /// Sets how many spare workers ``shared`` has at most, before its first use.
    ///
    ///     try Scheduler.setUpShared(spareWorkers: 256) // at the start of main
    ///
    /// `OVERDRIVE_SPARES` has the last word. Called once ``shared`` has been used it traps.
    ///
    /// - Parameter spareWorkers: The most spare workers while closures wait, 0 to 1024. The default is 64.
    /// - Throws: ``SchedulerError/outOfRange(_:)``.
    /// - Ordering: Before the first use of ``shared``, of whatever thread.
    /// - Threading: Any thread.
    /// - Cost: One lock; no thread is started.
    public static func setUpShared(spareWorkers: Int) throws(SchedulerError) {
        let count = try checked(spareWorkers: spareWorkers)
        sharedSetUp.withLock { state in
            guard case .open = state else {
                trap("Scheduler.setUpShared: Scheduler.shared is in use already. Call it before the first use.")
            }
            state = .open(spareWorkers: Int(count))
        }
    }

    /// The CPUs on which workers may run.
    public enum Placement: Int32, Sendable, CaseIterable {
        /// The kernel moves workers as it likes.
        case none = 0
        /// Each worker stays on the CPUs of one NUMA node.
        case node = 1
        /// Each worker stays on one CPU, and so do the threads and processes that closures start.
        case core = 2
        /// Like `node` where there are several nodes and the process owns its CPUs, else like `none`.
        case automatic = 3
    }

    /// Makes a separate scheduler.
    ///
    /// - Parameters:
    ///   - workers: How many workers, 1 to 1024; nil follows the machine's limits.
    ///   - placement: Where workers may run.
    ///   - name: For thread names (10 bytes of it show) and messages.
    ///   - stackSize: Bytes of address space for each worker's stack, 64 KiB to 64 GiB. It is touched
    ///     lazily, so a large one costs nothing until it is used.
    ///   - spareWorkers: The most spare workers while closures block, 0 to 1024. If more closures wait for others (in
    ///     `sync`, `wait`, `blocking`), these may never get a worker. A warning after a second names the waiting
    ///     closures; see ``onWarning(_:)``.
    /// - Throws: ``SchedulerError`` if an argument is out of range or an allocation fails.
    /// - Ordering: None: threads come with the first closure.
    /// - Threading: Any thread.
    /// - Cost: Reads the machine's limits, 0.2 to 1 ms; starts no thread.
    public convenience init(
        workers: Int? = nil,
        placement: Placement = .automatic,
        name: String = "overdrive",
        stackSize: Int = 256 << 20,
        spareWorkers: Int = 64
    ) throws(SchedulerError) {
        var options = unsafe od_pool_options()
        unsafe od_pool_options_init(&options)
        unsafe options.placement = od_placement(UInt32(placement.rawValue))
        unsafe options.workers = try Scheduler.checked(workers: workers)
        guard (64 << 10...64 << 30).contains(stackSize) else {
            throw .outOfRange("stackSize: out of range (\(stackSize) bytes). Choose 64 KiB to 64 GiB.")
        }
        unsafe options.stack_bytes = stackSize
        unsafe options.spare_workers = try Scheduler.checked(spareWorkers: spareWorkers)
        unsafe self.init(handle: try Scheduler.makePool(&options, name: name), name: name, isShared: false)
    }

    private convenience init() {
        var options = unsafe od_pool_options()
        unsafe od_pool_options_init(&options)
        unsafe options.spare_workers = Scheduler.sharedSetUp.withLock { state in
            defer { state = .done }
            guard case .open(let spareWorkers) = state else { return -1 }
            return Int32(spareWorkers)
        }
        let problem = unsafe readingMessage { unsafe od_pool_options_from_environment(&options, $0, $1) }
        do throws(SchedulerError) {
            unsafe self.init(handle: try Scheduler.makePool(&options, name: "overdrive"), name: "overdrive", isShared: true)
        } catch {
            trap("Scheduler.shared: \(error)")
        }
        guard let problem else { return }
        let sentence = "\(problem.message) The default applies."
        // Who takes it may use `shared`, which is there when this returns, and so must not be called on this thread.
        if isWarningTaken { DispatchQueue.global().async { warn(sentence) } } else { warn(sentence) }
    }

    private init(handle: OpaquePointer, name: String, isShared: Bool) {
        unsafe self.handle = handle
        self.name = name
        self.isShared = isShared
        owner = PoolOwner()
        owner.belong(to: self)
        unsafe od_pool_set_owner(handle, Unmanaged.passRetained(owner).toOpaque())
    }

    deinit {
        // The pool finishes what was submitted: elsewhere, where it has threads, so that who lets go waits for nobody.
        nonisolated(unsafe) let pool = unsafe handle
        let owner = unsafe Unmanaged.passUnretained(owner)
        let free = { @Sendable in
            _ = unsafe od_pool_free(pool)
            unsafe owner.release()
        }
        if metrics.threadsStarted == 0 { free() } else { DispatchQueue.global().async(execute: free) }
    }

    private static func makePool(
        _ options: inout od_pool_options, name: String
    ) throws(SchedulerError) -> OpaquePointer {
        var pool: OpaquePointer?
        let problem = unsafe name.withCString { name in
            unsafe options.name = name
            defer { unsafe options.name = nil }
            return unsafe readingMessage { unsafe od_pool_create(&options, &pool, $0, $1) }
        }
        guard let pool = unsafe pool else {
            throw problem?.status == OD_NO_MEMORY ? .outOfMemory : .outOfRange(problem?.message ?? "")
        }
        return unsafe pool
    }

    /// How many workers run at most, not counting spare ones that stand in for blocked ones.
    public var workerCount: Int {
        unsafe Int(od_pool_workers(handle))
    }

    /// Changes the number of workers while they run.
    ///
    /// - Parameter count: 1 to 1024; nil follows the machine's limits again.
    /// - Throws: ``SchedulerError/outOfRange(_:)``.
    /// - Ordering: Workers beyond the number go when they have done what they are at; what waits in their lines is
    ///   taken by others.
    /// - Threading: Any thread.
    /// - Cost: A lock, and a look at the machine's limits for nil; threads are started as work comes.
    public func setWorkerCount(_ count: Int?) throws(SchedulerError) {
        _ = unsafe od_pool_set_workers(handle, try Scheduler.checked(workers: count))
    }

    /// The engine's number: 0 follows the machine's limits.
    private static func checked(workers: Int?) throws(SchedulerError) -> Int32 {
        guard let workers else { return 0 }
        guard (1...1024).contains(workers) else {
            throw .outOfRange("workers: out of range (\(workers)). Choose 1 to 1024, or nil to follow the machine's limits.")
        }
        return Int32(workers)
    }

    private static func checked(spareWorkers: Int) throws(SchedulerError) -> Int32 {
        guard (0...1024).contains(spareWorkers) else {
            throw .outOfRange("spareWorkers: out of range (\(spareWorkers)). Choose 0 to 1024.")
        }
        return Int32(spareWorkers)
    }

    /// Whether the calling thread is one of this scheduler's workers.
    public var isCurrent: Bool {
        unsafe od_pool_is_worker(handle)
    }

    /// Stops the scheduler: runs what was submitted until the timeout, then cancels the rest.
    ///
    ///     let report: ShutdownReport = scheduler.shutdown(timeout: .seconds(5))
    ///     print(report.cancelled) // 0
    ///
    /// Closures in a suspended queue are cancelled when nothing else is left to run. So are closures behind a thread
    /// in `sync`, or behind a task that holds the queue across an `await`.
    ///
    /// - Parameter timeout: The time for which closures may continue. The call returns at most 50 ms later. It takes
    ///   longer if the release of cancelled closures does, or if the kernel has preempted a thread during a
    ///   submission.
    /// - Returns: How many closures ran, were cancelled, or still run. A second call returns the first's
    ///   report; while the first is under way the timeout that ends earlier holds.
    /// - Ordering: What a closure that ran has written is visible afterwards.
    /// - Threading: Not in a closure of the scheduler, and not for ``shared``: both trap. Later submissions are
    ///   discarded and counted as cancelled. A submission during the call may be discarded too, but earlier
    ///   submissions are not affected.
    /// - Cost: A sleep until the work is done; afterwards no thread of the scheduler is left but who still runs a
    ///   closure.
    @discardableResult
    public func shutdown(timeout: Duration) -> ShutdownReport {
        if isShared { trap("Scheduler.shutdown(timeout:): the shared scheduler cannot be shut down. Create a Scheduler for this work.") }
        var report = od_stop_report()
        let status = unsafe od_pool_stop(handle, timeout.nanoseconds, &report)
        if status == OD_INSIDE {
            trap("Scheduler.shutdown(timeout:): a closure of the scheduler would wait for itself (\"\(name)\"). Call it elsewhere.")
        }
        return ShutdownReport(report)
    }

    /// Stops the scheduler like ``shutdown(timeout:)-(Duration)``, without blocking the caller's thread.
    ///
    /// - Ordering: As of ``shutdown(timeout:)-(Duration)``.
    /// - Threading: Any task but one on the scheduler's own workers; a thread of libdispatch's waits in its place.
    ///   Traps for ``shared``.
    /// - Cost: As of ``shutdown(timeout:)-(Duration)``, and a closure on libdispatch.
    @discardableResult
    public func shutdown(timeout: Duration) async -> ShutdownReport {
        await unsafe withUnsafeContinuation { continuation in
            DispatchQueue.global().async {
                let report: ShutdownReport = self.shutdown(timeout: timeout)
                unsafe continuation.resume(returning: report)
            }
        }
    }
}

/// Why a scheduler could not be made or changed.
public enum SchedulerError: Error, Equatable, CustomStringConvertible {
    /// An argument is out of its range; the sentence says which, and what to choose.
    case outOfRange(String)
    /// Memory is too short for a pool.
    case outOfMemory

    public var description: String {
        switch self {
        case .outOfRange(let sentence): sentence
        case .outOfMemory: "out of memory for a scheduler"
        }
    }
}

/// The outcome of a scheduler's closures after a shutdown.
public struct ShutdownReport: Sendable, Equatable {
    /// Closures that ran to their end, over the scheduler's life.
    public let ran: Int
    /// Accepted closures that never ran and never will. The jobs of Swift tasks among them run elsewhere.
    public let cancelled: Int
    /// Closures that its workers still ran when this was written, after the deadline: one with others on top of it counts once.
    public let stuck: Int
    /// The labels of the queues of the first eight of these, where they have one.
    public let stuckQueues: [String]

    init(_ report: od_stop_report) {
        ran = Int(report.ran)
        cancelled = Int(report.cancelled)
        stuck = Int(report.stuck)
        var queues = unsafe report.stuck_queues
        stuckQueues = unsafe withUnsafeBytes(of: &queues) { bytes in
            unsafe bytes.bindMemory(to: UnsafeMutableRawPointer?.self).compactMap { queue in
                unsafe queue.map { unsafe String(cString: od_queue_label(OpaquePointer($0))) }
            }.filter { !$0.isEmpty }
        }
    }
}

/// Calls `body` with room for a sentence, and returns the sentence unless the status is OD_OK.
private func readingMessage(
    _ body: (UnsafeMutablePointer<CChar>, Int) -> od_status
) -> (status: od_status, message: String)? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
        guard let start = room.baseAddress else { return nil }
        unsafe start.initialize(repeating: 0, count: room.count)
        let status = unsafe body(start, room.count)
        return unsafe status == OD_OK ? nil : (status, String(cString: start))
    }
}
