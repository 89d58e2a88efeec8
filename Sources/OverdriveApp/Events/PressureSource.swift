// Owns the descriptor that reports memory pressure. The supervisor polls it and posts `MemoryPressure`. It never sends
// events itself.

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads the kernel's pressure-stall information for memory. The descriptor reports an exceptional condition when the
/// threshold is exceeded.
final class PressureSource {
    let descriptor: Int32
    let threshold: MemoryPressure.Threshold

    /// Opens the file of the process's control group, or that of the whole machine.
    ///
    /// - Parameter note: Called with a sentence if there is no pressure information.
    init?(_ threshold: MemoryPressure.Threshold, files: [String] = PressureSource.files(), note: (String) -> Void) {
        let request = "some \(threshold.stall.nanosecondCount / 1000) \(threshold.window.nanosecondCount / 1000)"
        var reason = "the kernel does not offer it"
        for file in files {
            let descriptor = unsafe open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else {
                reason = "\(file): \(lastSystemError())"
                continue
            }
            // The kernel expects the terminating zero.
            if unsafe write(descriptor, request, request.utf8.count + 1) > 0 {
                self.descriptor = descriptor
                self.threshold = threshold
                return
            }
            reason = "\(file): \(lastSystemError()) for \"\(request)\""
            close(descriptor)
        }
        note("memory pressure is not reported: \(reason)")
        return nil
    }

    deinit { close(descriptor) }

    /// Returns the possible paths, the nearest control group first.
    ///
    /// - Parameters:
    ///   - membership: The file that names the process's control group.
    ///   - root: The folder of the control groups.
    static func files(membership: String = "/proc/self/cgroup", root: String = "/sys/fs/cgroup") -> [String] {
        var groups: [String] = []
        if let file = unsafe fopen(membership, "re") {
            defer { unsafe fclose(file) }
            var line = [CChar](repeating: 0, count: 4096)
            while unsafe fgets(&line, Int32(line.count), file) != nil {
                let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                guard text.hasPrefix("0::") else { continue }
                let group = text.dropFirst(3) == "/" ? "" : text.dropFirst(3)
                groups += ["\(root)\(group)", "\(root)/unified\(group)"]
            }
        }
        return groups.map { $0 + "/memory.pressure" } + ["/proc/pressure/memory"]
    }
}
