internal import CScheduler
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Scheduler {
    /// Takes the library's warnings, which otherwise go to the standard error stream.
    ///
    ///     Scheduler.onWarning { sentence in logger.warning("\(sentence)") }
    ///
    /// A warning is one sentence about a problem that does not end the program. Examples are a pool in which every
    /// thread waits, an ignored setting, and a wait for a task that was never added. Errors that end the process are
    /// always written to the standard error stream.
    ///
    /// - Parameter take: Called with each sentence; nil: the standard error stream again.
    /// - Ordering: A warning under way when this is called may still go where the ones before went.
    /// - Threading: Any thread. `take` is called on any thread, workers included, and perhaps on several at a time.
    ///   It must not wait for closures of the scheduler.
    /// - Cost: One lock.
    public static func onWarning(_ take: (@Sendable (_ sentence: String) -> Void)?) {
        // What was taken by before is let go of outside of the lock.
        let before = Warnings.taker.withLock(orAnew: nil) { taker in
            defer { taker = take }
            // Under the lock: of two callers the same one is the last for the engine's warnings and for ours.
            unsafe od_warnings_to(take == nil ? nil : { sentence in if let sentence = unsafe sentence { unsafe warn(String(cString: sentence)) } })
            return taker
        }
        _ = consume before
    }
}

/// Whether a closure of the program's is called with warnings.
var isWarningTaken: Bool { Warnings.taker.withLock(orAnew: nil) { $0 != nil } }

private enum Warnings {
    static let taker = Locked<(@Sendable (String) -> Void)?>(nil)
}

/// Says one sentence to who takes the warnings, or on the standard error stream, in one write.
package func warn(_ sentence: String) {
    if let take = Warnings.taker.withLock(orAnew: nil, { $0 }) { take(sentence) } else { write(sentence) }
}

private func write(_ sentence: String) {
    let line = Array("overdrive: \(sentence)\n".utf8)
    // A closed stream: there is nobody to tell.
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Ends the process with one sentence, which names the call and the promise that its caller broke. Unlike
/// `preconditionFailure` it says so in release builds too.
package func trap(_ sentence: String) -> Never {
    write(sentence)
    abort()
}
