// Owns the announcement of a blocking call. Programs call it. It never moves `body` to another thread.

internal import CScheduler

/// Runs `body`, which may block in the kernel, and lets a spare replace the worker at once.
///
///     queue.async {
///         let page = blocking { readWholeFile(path) }
///         process(page)
///     }
///
/// The monitor also notices unannounced blocking, within 10 ms and only if other work waits.
///
/// - Parameter body: The code that may block: a read, a lock, a sleep. It runs at once, on the calling thread.
/// - Returns: The result of `body`, which the caller may ignore.
/// - Throws: Any error of `body`.
/// - Ordering: None; `body` runs on the calling thread.
/// - Threading: Any thread. On a thread that is not a worker, the call only runs `body`. Nested calls count once.
/// - Cost: Two short critical sections; also a thread start if work waits and no spare is parked.
@discardableResult
public func blocking<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    od_blocking_begin()
    defer { od_blocking_end() }
    return try body()
}
