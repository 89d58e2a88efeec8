// Owns the choice of the scheduler for threads that are not workers. The engine calls it at such a thread's first
// fork.

internal import CScheduler

/// Returns the shared scheduler for a thread that is not a worker. The engine calls it at the thread's first fork.
@_cdecl("od_default_pool")
func defaultPool() -> OpaquePointer {
    unsafe Scheduler.shared.handle
}
