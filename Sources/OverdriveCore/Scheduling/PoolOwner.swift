// Owns the link from an engine pool to its `Scheduler`. The engine retains it. It never retains the scheduler.

internal import CScheduler

/// The scheduler of a pool, as a weak reference.
///
/// A pool may outlive its scheduler until its last closures have run, and one of these may hold the last reference to
/// the scheduler. So the pool retains this object, and this object does not retain the scheduler.
@safe final class PoolOwner: Sendable {
    // Written before the pool's first job. Reading a weak reference is thread-safe.
    nonisolated(unsafe) private(set) weak var scheduler: Scheduler?

    /// The executor for Swift tasks, whose jobs keep it alive. Written before the pool's first job.
    nonisolated(unsafe) private(set) var executor: UnownedTaskExecutor?

    func belong(to scheduler: Scheduler) {
        unsafe self.scheduler = scheduler
        unsafe executor = scheduler.asUnownedTaskExecutor()
    }

    /// The owner object of the pool whose worker or helper the calling thread is.
    static var current: PoolOwner? {
        unsafe od_pool_current_owner().map { unsafe Unmanaged<PoolOwner>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension Scheduler {
    /// The scheduler whose closure the calling thread runs; nil if it has been released.
    static var current: Scheduler? { unsafe PoolOwner.current?.scheduler }
}
