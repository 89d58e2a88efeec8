// Owns the main thread of an app that runs as the process: it serves the main queue. `AppTasks.run` calls it last. It
// never returns.

internal import Dispatch

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The functions by which run loops serve the main queue.
@_silgen_name("_dispatch_get_main_queue_handle_4CF")
private func mainQueueHandle() -> Int32
@_silgen_name("_dispatch_main_queue_callback_4CF")
private func drainMainQueue(_ message: UnsafeRawPointer?)

/// Runs the closures of the main queue on the main thread, forever.
///
/// `dispatchMain()` would unblock all signals on this thread. A signal that the program has blocked for a signalfd
/// would then end the process.
func serveMainQueue() -> Never {
    let handle = mainQueueHandle()
    var descriptor = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
    while true {
        drainMainQueue(nil)
        guard unsafe poll(&descriptor, 1, -1) > 0 else { continue }
        var count: UInt64 = 0
        _ = unsafe read(handle, &count, MemoryLayout.size(ofValue: count))
    }
}
