// Owns the public scheduler object: creation, settings and shutdown. Programs call it. It never runs a closure
// itself.

internal import CScheduler
internal import Dispatch
internal import Synchronization

/// Runs closures on a pool of work-stealing workers, by default as many as the process may use CPUs.
///
///     let scheduler = try Scheduler(workers: 4, name: "render")
///     let queue = TaskQueue(scheduler: scheduler)
///     await withTaskExecutorPreference(scheduler) { await renderAll() }
///
/// A scheduler starts no thread before its first work and uses no CPU while it is idle. Without a fixed number of
/// workers, it follows the process's affinity mask, cpuset and cgroup quota. Changes take effect within a second of
/// activity. A scheduler without references still runs its pending closures, and is then released. The releasing
/// thread does not wait for them; use `shutdown(timeout:)` to wait.
///
/// - Threading: Any thread.
@safe public final class Scheduler: Sendable {
    // The engine's pool is thread-safe, and the pointer never changes.
    nonisolated(unsafe) let handle: OpaquePointer

    /// The scheduler's name in thread names and messages.
    public let name: String

    private let isShared: Bool

    // A pool of a controlled run is freed after the run: a free inside would wait for the engine's reclaimer, which is
    // outside.
    private let isControlled: Bool

    // Also retained by the pool, and released after the pool has been freed.
    private let owner: PoolOwner

    /// The process's scheduler, created at its first use.
    ///
    /// `OVERDRIVE_WORKERS` (1 to 1024), `OVERDRIVE_SPARES` (0 to 1024) and `OVERDRIVE_PLACEMENT` (none, node, core,
    /// automatic) configure it. An invalid value is ignored, with a warning; see ``onWarning(_:)``.
    public static var shared: Scheduler { ControlledScope.here?.scheduler ?? ofTheProcess }

    static let ofTheProcess = Scheduler()

    /// The setting of ``setUpShared(spareWorkers:)``, until ``shared`` is created.
    private enum SharedSetUp { case open(spareWorkers: Int), done }
    private static let sharedSetUp = Locked(SharedSetUp.open(spareWorkers: 64))

    /// Sets the maximum number of spare workers of ``shared``, before its first use.
    ///
    ///     try Scheduler.setUpShared(spareWorkers: 256) // at the start of main
    ///
    /// `OVERDRIVE_SPARES` takes precedence. A call after the first use of ``shared`` traps.
    ///
    /// - Parameter spareWorkers: The maximum number of spare workers while closures block, 0 to 1024. The default is
    ///   64.
    /// - Throws: ``SchedulerError/outOfRange(_:)``.
    /// - Ordering: Before the first use of ``shared`` by any thread.
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
        /// The kernel moves workers freely.
        case none = 0
        /// Each worker stays on the CPUs of one NUMA node.
        case node = 1
        /// Each worker stays on one CPU. Threads and processes that closures start inherit this CPU.
        case core = 2
        /// Like `node` if there are several nodes and the process owns its CPUs, otherwise like `none`.
        case automatic = 3
    }

    /// Creates a separate scheduler.
    ///
    /// - Parameters:
    ///   - workers: The number of workers, 1 to 1024; nil follows the machine's limits.
    ///   - placement: The CPUs on which workers may run.
    ///   - name: The name in messages and in thread names, which show 10 bytes of it.
    ///   - stackSize: The address space of each worker's stack, 64 KiB to 64 GiB, in bytes. Memory is allocated at
    ///     the first touch, so a large stack costs nothing until its use. The default becomes
    ///     8 MiB under `ulimit -v`, and under `mlockall(MCL_FUTURE)`, which fills stacks with memory.
    ///   - spareWorkers: The maximum number of spare workers while closures block, 0 to 1024. If more closures wait
    ///     for others (in `sync`, `wait`, `blocking`), these may never get a worker. A warning after a second names
    ///     the waiting closures; see ``onWarning(_:)``.
    /// - Throws: ``SchedulerError`` if an argument is out of range or an allocation fails.
    /// - Ordering: None; threads start with the first closure.
    /// - Threading: Any thread.
    /// - Cost: Reads the machine's limits in 0.2 to 1 ms; starts no thread.
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

    /// Creates the scheduler of a controlled run, on the run's first thread.
    convenience init(controlledWorkers workers: Int, spareWorkers: Int) throws(SchedulerError) {
        var options = unsafe od_pool_options()
        unsafe od_pool_options_init(&options)
        unsafe options.placement = OD_PLACEMENT_NONE
        unsafe options.workers = try Scheduler.checked(workers: workers)
        unsafe options.spare_workers = try Scheduler.checked(spareWorkers: spareWorkers)
        unsafe options.stack_bytes = 4 << 20  // the C library keeps stacks of this size for the next run
        unsafe self.init(
            handle: try Scheduler.makePool(&options, name: "worker"), name: "worker", isShared: false)
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
        // The warning handler may use `shared`, which is not initialised yet, so it must run on another thread.
        if isWarningTaken { DispatchQueue.global().async { warn(sentence) } } else { warn(sentence) }
    }

    private init(handle: OpaquePointer, name: String, isShared: Bool) {
        unsafe self.handle = handle
        self.name = name
        self.isShared = isShared
        isControlled = ControlledRun.isInside
        owner = PoolOwner()
        owner.belong(to: self)
        unsafe od_pool_set_owner(handle, Unmanaged.passRetained(owner).toOpaque())
        SignalDump.enlist(self)
    }

    deinit {
        // The pool finishes its pending closures. If it has threads, this runs elsewhere, so that the release never
        // waits.
        nonisolated(unsafe) let pool = unsafe handle
        let owner = unsafe Unmanaged.passUnretained(owner)
        let free = { @Sendable in
            _ = unsafe od_pool_free(pool)
            unsafe owner.release()
        }
        if let scope = ControlledScope.here {
            if isControlled { _ = unsafe od_pool_stop(pool, .max, nil) }
            return scope.atEnd(free)
        }
        if isControlled || metrics.threadsStarted == 0 { free() } else { DispatchQueue.global().async(execute: free) }
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

    /// The maximum number of running workers, without the spares that replace blocked ones.
    public var workerCount: Int {
        unsafe Int(od_pool_workers(handle))
    }

    /// Changes the number of workers at run time.
    ///
    /// - Parameter count: The number of workers, 1 to 1024; nil follows the machine's limits again.
    /// - Throws: ``SchedulerError/outOfRange(_:)``.
    /// - Ordering: Surplus workers finish their current closures and stop. Other workers take the closures in their
    ///   deques.
    /// - Threading: Any thread.
    /// - Cost: One lock; nil also reads the machine's limits. Threads start when work arrives.
    public func setWorkerCount(_ count: Int?) throws(SchedulerError) {
        _ = unsafe od_pool_set_workers(handle, try Scheduler.checked(workers: count))
    }

    /// Converts a number of workers to the engine's value, where 0 follows the machine's limits.
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

    /// Whether the calling thread is a worker of this scheduler.
    public var isCurrent: Bool {
        unsafe od_pool_is_worker(handle)
    }

    /// Stops the scheduler: runs the pending closures until the timeout, then cancels the rest.
    ///
    ///     let report: ShutdownReport = scheduler.shutdown(timeout: .seconds(5))
    ///     print(report.cancelled) // 0
    ///
    /// Closures in a suspended queue are cancelled when no other closure is left to run. The same holds for closures
    /// behind a thread in `sync`, or behind a task that holds the queue across an `await`.
    ///
    /// - Parameter timeout: The time for which closures may continue. The call returns at most 50 ms later. It takes
    ///   longer if the release of cancelled closures does, or if the kernel has preempted a thread during a
    ///   submission.
    /// - Returns: The numbers of closures that ran, were cancelled, or still run. A second call returns the report of
    ///   the first; two concurrent calls use the earlier deadline.
    /// - Ordering: Writes of closures that ran are visible after the call.
    /// - Threading: Any thread. Traps in a closure of the scheduler, and for ``shared``. Later submissions are
    ///   discarded and counted as cancelled. A submission during the call may be discarded too, but earlier
    ///   submissions are not affected.
    /// - Cost: A sleep until the work is done. Afterwards only threads that still run a closure are left.
    @available(*, noasync, message: "it blocks the thread: write await shutdown(timeout:)")
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
    /// - Ordering: The same as ``shutdown(timeout:)-(Duration)``.
    /// - Threading: Any task, except on the scheduler's own workers. A libdispatch thread waits instead.
    ///   Traps for ``shared``.
    /// - Cost: The same as ``shutdown(timeout:)-(Duration)``, and a closure on libdispatch.
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

/// The error of a scheduler that could not be created or changed.
public enum SchedulerError: Error, Equatable, CustomStringConvertible {
    /// An argument is out of range; the message names the argument and the valid range.
    case outOfRange(String)
    /// Memory allocation for a pool failed.
    case outOfMemory

    public var description: String {
        switch self {
        case .outOfRange(let sentence): sentence
        case .outOfMemory: "out of memory for a scheduler"
        }
    }
}

/// The numbers of a scheduler's closures after a shutdown.
public struct ShutdownReport: Sendable, Equatable {
    /// Closures that ran to their end during the scheduler's life.
    public let ran: Int
    /// Accepted closures that never ran and never will. Jobs of Swift tasks among them run elsewhere.
    public let cancelled: Int
    /// Closures that workers still ran after the deadline. A closure that runs others nested in it counts once.
    public let stuck: Int
    /// The queue labels of the first eight stuck closures, without empty labels.
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

/// Calls `body` with a buffer for a message. Returns the status and the message unless the status is `OD_OK`.
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
