internal import CScheduler

/// Where threads fork that are no workers: the engine asks for it at such a thread's first fork.
@_cdecl("od_default_pool")
func defaultPool() -> OpaquePointer {
    unsafe Scheduler.shared.handle
}
