import Foundation
@_exported import TestSupport

/// Hang detection in waits that a surface offers itself: far beyond what anything here takes.
let patience = 30.0

/// Waits until every other thread of the process sleeps: what was to happen without this one has happened, and who is to
/// wait waits.
func settle() {
    guard comesToRest() else { preconditionFailure("a scenario's process never came to rest") }
}

/// Runs `body` on POSIX threads of their own, all at once, and waits for them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    guard TestSupport.onThreads(count, within: patience, body) else {
        preconditionFailure("a thread of a scenario never came to its end")
    }
}
