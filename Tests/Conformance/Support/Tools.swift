import Foundation
@_exported import TestSupport

/// Hang detection in waits that a surface offers itself: far beyond what anything here takes.
let patience = 30.0

/// Gives what must not happen a while to happen.
func linger(milliseconds: UInt32 = 10) {
    usleep(milliseconds * 1000)
}

/// Runs `body` on POSIX threads of their own, all at once, and waits for them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    guard TestSupport.onThreads(count, within: patience, body) else {
        preconditionFailure("a thread of a scenario never came to its end")
    }
}
