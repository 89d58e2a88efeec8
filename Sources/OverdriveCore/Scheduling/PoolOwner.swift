internal import CScheduler

/// What a pool knows of the scheduler that it belongs to.
///
/// A pool outlives its scheduler by the closures that were submitted before, one of which may hold the
/// scheduler's last reference. So the pool holds this, and this does not hold the scheduler.
@safe final class PoolOwner: Sendable {
    // Written before the pool's first job; reading a weak reference is safe from any thread.
    nonisolated(unsafe) private(set) weak var scheduler: Scheduler?

    /// For the jobs of Swift tasks, which keep their executor alive. Written likewise.
    nonisolated(unsafe) private(set) var executor: UnownedTaskExecutor?

    func belong(to scheduler: Scheduler) {
        unsafe self.scheduler = scheduler
        unsafe executor = scheduler.asUnownedTaskExecutor()
    }

    /// Of the pool whose worker, or helper, the calling thread is.
    static var current: PoolOwner? {
        unsafe od_pool_current_owner().map { unsafe Unmanaged<PoolOwner>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension Scheduler {
    /// The scheduler whose closure the calling thread runs, unless it is gone.
    static var current: Scheduler? { unsafe PoolOwner.current?.scheduler }
}
