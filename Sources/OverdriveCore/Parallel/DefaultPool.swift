// Owns the choice of the scheduler for threads that are not workers. The engine calls it at the first fork of
// each.

internal import CScheduler

/// Returns the shared scheduler for a thread that is not a worker. The engine calls it at the thread's first fork.
@_cdecl("od_default_pool")
func defaultPool() -> OpaquePointer {
    unsafe Scheduler.shared.handle
}
