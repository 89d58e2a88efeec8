// Owns the identity of a machine and its boot. Journals store it to tell a live process from a dead one.

internal import Glibc

/// A machine and its current boot. Only processes of the same boot can be checked for life.
package struct Host: Equatable {
    package var name: String
    var boot: String

    package static let current = Host(name: hostName, boot: bootID)

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        unsafe gethostname(&name, name.count - 1)
        return text(name)
    }

    private static var bootID: String {
        let file = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "unknown" }
        defer { close(file) }
        var bytes = [CChar](repeating: 0, count: 64)
        _ = unsafe read(file, &bytes, 36)
        return text(bytes)
    }

    private static func text(_ bytes: [CChar]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
