internal import CScheduler

/// Says that `body` may wait in the kernel, so that another worker takes this one's place at once.
///
///     queue.async {
///         let page = blocking { readWholeFile(path) }
///         process(page)
///     }
///
/// Waiting that is not announced is noticed too, within 10 ms and while work waits.
///
/// - Parameter body: What may wait: a read, a lock, a sleep. It runs at once, on the calling thread.
/// - Returns: The result of `body`, which the caller may ignore.
/// - Throws: What `body` throws.
/// - Ordering: None; `body` is called here.
/// - Threading: Any thread; on one that is no worker, `body` just runs. Nested calls count once.
/// - Cost: Two short critical sections; a thread start when no worker is spare and work waits.
@discardableResult
public func blocking<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    od_blocking_begin()
    defer { od_blocking_end() }
    return try body()
}
