#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Nanoseconds of the monotonic clock.
func monotonicNow() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// What tells the calling thread from all others that exist.
func currentThread() -> UInt { UInt(pthread_self()) }

extension Duration {
    /// This many nanoseconds, as far as half of Int64 goes: a time is added to them.
    var nanosecondCount: Int64 {
        let (seconds, attoseconds) = components
        let most: Int64 = .max / 2 / 1_000_000_000
        return max(-most, min(most, seconds)) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// What `errno` says, in words.
func lastSystemError() -> String { unsafe String(cString: strerror(errno)) }

/// Names the calling thread, as tools show it.
private func nameThread(_ name: String) {
    let descriptor = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = unsafe name.utf8CString.withUnsafeBytes { unsafe systemWrite(descriptor, $0) }
    close(descriptor)
}

/// Whether the calling thread is the process's first.
func isMainThread() -> Bool {
    var link = [UInt8](repeating: 0, count: 64)
    let count = unsafe link.withUnsafeMutableBytes {
        unsafe $0.withMemoryRebound(to: CChar.self) { unsafe readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
    }
    let path = String(decoding: link.prefix(max(0, count)), as: UTF8.self)  // PROCESS/task/THREAD
    return path.hasPrefix("\(getpid())/") && path.hasSuffix("/\(getpid())")
}

/// Runs `body` on a thread of its own, which no scheduler and no stuck worker holds up.
///
/// - Returns: Nil, or why there is no thread.
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

/// Writes bytes to a descriptor, in one call.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    unsafe write(descriptor, bytes.baseAddress, bytes.count)
}
