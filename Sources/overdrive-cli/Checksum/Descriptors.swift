internal import Glibc
internal import Synchronization

/// The descriptors that the readers of files and directories hold.
///
/// If the process has none left, a reader waits until another one closes its own: no file is blamed for the process's
/// own shortage. Only if no other reader holds a descriptor is there a real shortage, which ends the command.
enum Descriptors {
    private static let held = Atomic<Int>(0)
    private static let isShort = Atomic<Bool>(false)
    /// Attempts in a row, a millisecond apart, beside which no other reader held a descriptor: this is a real shortage.
    private static let mostAttemptsAlone = 50

    /// Whether a reader got no descriptor although no other reader held one.
    static var ranOut: Bool { isShort.load(ordering: .relaxed) }

    /// Raises the soft limit to the hard one. Further processes of this command inherit the limit.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// As `LongPath.open`, but waits while the process or the system has no descriptor left. `noteClosed` ends the hold.
    static func open(_ path: Bytes, flags: Int32) -> Int32 {
        var attemptsAlone = 0
        while true {
            // Relaxed: a count, with which nothing is published. A reader that sleeps here is no holder.
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

    /// Notes that a descriptor of `open` was closed.
    static func noteClosed() { held.subtract(1, ordering: .relaxed) }

    /// Says that descriptors ran out, and gives the exit code of that.
    static func reportShortage() -> ExitStatus {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        StandardError.say("no file descriptor is left (limit \(limit.rlim_cur)). Raise the limit with: ulimit -n")
        return .system
    }

    static func isShortage(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }
}
