// Owns warnings and fatal errors of the library. All targets call it. A warning never ends the process.

internal import CScheduler
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Scheduler {
    /// Sets the handler of the library's warnings, which otherwise go to the standard error stream.
    ///
    ///     Scheduler.onWarning { sentence in logger.warning("\(sentence)") }
    ///
    /// A warning is one sentence about a problem that does not end the program. Examples are a pool in which every
    /// thread waits, an ignored setting, and a wait for a task that was never added. Errors that end the process are
    /// always written to the standard error stream.
    ///
    /// - Parameter take: Called with each warning; nil restores the standard error stream.
    /// - Ordering: A warning that another thread reports during the call may still go to the previous handler.
    /// - Threading: Any thread. `take` is called on any thread, workers included, and possibly on several at once.
    ///   It must not wait for closures of the scheduler.
    /// - Cost: One lock.
    public static func onWarning(_ take: (@Sendable (_ sentence: String) -> Void)?) {
        // The previous handler is released outside the lock.
        let before = Warnings.taker.withLock(orAnew: nil) { taker in
            defer { taker = take }
            // Under the lock, so that the engine and Swift always have the same handler after two concurrent calls.
            unsafe od_warnings_to(take == nil ? nil : { sentence in if let sentence = unsafe sentence { unsafe warn(String(cString: sentence)) } })
            return taker
        }
        _ = consume before
    }
}

/// Whether the program has set a warning handler.
var isWarningTaken: Bool { Warnings.taker.withLock(orAnew: nil) { $0 != nil } }

private enum Warnings {
    static let taker = Locked<(@Sendable (String) -> Void)?>(nil)
}

/// Reports a warning to the handler, or else writes it to the standard error stream in one call.
package func warn(_ sentence: String) {
    if let take = Warnings.taker.withLock(orAnew: nil, { $0 }) { take(sentence) } else { write(sentence) }
}

private func write(_ sentence: String) {
    let line = Array("overdrive: \(sentence)\n".utf8)
    // Ignore errors: with a closed stream there is no way to report.
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Ends the process with a message that names the call and the violated precondition. Unlike `preconditionFailure`,
/// this also prints in release builds.
package func trap(_ sentence: String) -> Never {
    write(sentence)
    unsafe od_recording_trapped(sentence)
    abort()
}
