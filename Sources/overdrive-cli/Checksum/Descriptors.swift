internal import Glibc
internal import Synchronization

/// Counts the descriptors that readers of files and directories hold.
///
/// If no descriptor is free, a reader waits until another reader closes one, so that no file fails because of this
/// process. If no other reader holds a descriptor, the shortage ends the command.
enum Descriptors {
    private static let held = Atomic<Int>(0)
    private static let isShort = Atomic<Bool>(false)
    /// The number of attempts, 1 ms apart and without other holders, after which the shortage is real.
    private static let mostAttemptsAlone = 50

    /// Whether a reader got no descriptor although no other reader held one.
    static var ranOut: Bool { isShort.load(ordering: .relaxed) }

    /// Raises the soft limit to the hard limit. Child processes inherit it.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Opens a path as `LongPath.open` does, but waits while no descriptor is free. `noteClosed` must follow the
    /// close.
    static func open(_ path: Bytes, flags: Int32) -> Int32 {
        var attemptsAlone = 0
        while true {
            // Relaxed: a count that publishes no data. A reader that sleeps here is not counted.
            held.add(1, ordering: .relaxed)
            let descriptor = LongPath.open(path, flags: flags)
            if descriptor >= 0 { return descriptor }
            let number = errno
            let others = held.subtract(1, ordering: .relaxed).newValue
            if isShortage(number), attemptsAlone < mostAttemptsAlone {
                attemptsAlone = others > 0 ? 0 : attemptsAlone + 1
                usleep(1000)
                continue
            }
            if isShortage(number) { isShort.store(true, ordering: .relaxed) }
            errno = number
            return -1
        }
    }

    /// Records that a descriptor from `open` was closed.
    static func noteClosed() { held.subtract(1, ordering: .relaxed) }

    /// Reports the shortage of descriptors and returns the exit status.
    static func reportShortage() -> ExitStatus {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        StandardError.say("no file descriptor is left (limit \(limit.rlim_cur)). Raise the limit with: ulimit -n")
        return .system
    }

    static func isShortage(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }
}
