// Owns small wrappers of system calls that the app's threads use. They have no state.

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Returns the monotonic time in nanoseconds.
func monotonicNow() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Returns a number that identifies the calling thread among the running threads.
func currentThread() -> UInt { UInt(pthread_self()) }

extension Duration {
    /// The nanoseconds of the duration, limited to half the range of Int64, so that a time can be added.
    var nanosecondCount: Int64 {
        let (seconds, attoseconds) = components
        let most: Int64 = .max / 2 / 1_000_000_000
        return max(-most, min(most, seconds)) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Returns the message for `errno`.
func lastSystemError() -> String { unsafe String(cString: strerror(errno)) }

/// Sets the name of the calling thread, as tools display it.
private func nameThread(_ name: String) {
    let descriptor = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = unsafe name.utf8CString.withUnsafeBytes { unsafe systemWrite(descriptor, $0) }
    close(descriptor)
}

/// Returns whether the calling thread is the main thread.
func isMainThread() -> Bool {
    var link = [UInt8](repeating: 0, count: 64)
    let count = unsafe link.withUnsafeMutableBytes {
        unsafe $0.withMemoryRebound(to: CChar.self) { unsafe readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
    }
    let path = String(decoding: link.prefix(max(0, count)), as: UTF8.self)  // format: PROCESS/task/THREAD
    return path.hasPrefix("\(getpid())/") && path.hasSuffix("/\(getpid())")
}

/// Runs `body` on a new thread, which does not depend on any scheduler.
///
/// - Returns: nil, or the reason for a failure.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> String? {
    final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
    let start = unsafe Unmanaged.passRetained(Start(name, body))
    var thread = pthread_t()
    let status = unsafe pthread_create(&thread, nil, { context in
        guard let context = unsafe context else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        nameThread(start.name)
        start.body()
        return nil
    }, unsafe start.toOpaque())
    guard status != 0 else {
        pthread_detach(thread)
        return nil
    }
    unsafe start.release()
    return unsafe String(cString: strerror(status))
}

/// Writes bytes to a descriptor with one call of write(2).
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    unsafe write(descriptor, bytes.baseAddress, bytes.count)
}
