// Owns the messages to systemd: ready, reloading, stopping, watchdog. The supervisor calls it. It never blocks.

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Sends messages to the service manager at the socket of `NOTIFY_SOCKET`: systemd, or a program with the same
/// protocol.
final class ServiceManager: Sendable {
    private let path: String
    /// The interval of watchdog beats in nanoseconds; nil if the watchdog is off.
    let beatInterval: Int64?

    /// Returns nil if there is no service manager.
    init?() {
        guard let path = unsafe getenv("NOTIFY_SOCKET").map({ unsafe String(cString: $0) }), !path.isEmpty else { return nil }
        self.path = path
        let microseconds = unsafe getenv("WATCHDOG_USEC").flatMap { unsafe Int64(String(cString: $0)) }
        let process = unsafe getenv("WATCHDOG_PID").map { unsafe String(cString: $0) }
        let isMeant = process == nil || process == "\(getpid())"
        // Half of the watchdog's timeout, as its manual recommends.
        beatInterval = microseconds.flatMap { $0 > 0 && isMeant ? max(1, $0 * 1000 / 2) : nil }
    }

    /// Sends a message without blocking.
    ///
    /// - Parameter message: The message.
    /// - Returns: nil, or a sentence about the failure.
    func send(_ message: String) -> String? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), bytes[0] == 47 || bytes[0] == 64 else {
            return "NOTIFY_SOCKET is \"\(path)\", which is neither a path nor an abstract name: \(message) was not sent"
        }
        if bytes[0] == 64 { bytes[0] = 0 }  // "@name" is abstract
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + socklen_t(bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return "no socket could be opened to send \(message): \(lastSystemError())" }
        defer { close(descriptor) }
        let payload = Array(message.utf8)
        let sent = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(descriptor, payload, payload.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, length)
            }
        }
        guard sent < 0 else { return nil }
        return "no process listens at NOTIFY_SOCKET \"\(path)\" (\(lastSystemError())): \(message) was not received"
    }
}
