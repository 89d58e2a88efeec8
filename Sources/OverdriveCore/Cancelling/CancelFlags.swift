// Owns the cancel flags of work: one for each item, and the epochs by which `cancelAll()` reaches running work. Items, tasks
// and `run(_:)` read them. A flag never falls, an ended epoch never restarts, and no thread is stopped.

internal import Synchronization

/// Work with a cancel flag.
final class CancellableWork: CurrentWork {
    private let requested = Atomic(false)

    var isRequested: Bool { requested.load(ordering: .acquiring) }

    func cancel() {
        requested.store(true, ordering: .releasing)
    }
}

/// The time between two calls of ``TaskQueue/cancelAll()``. Its end cancels the running work that was submitted in
/// it.
final class CancelEpoch: Sendable {
    private let ended = Atomic(false)

    /// Whether the epoch's work is cancelled.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    func end() {
        ended.store(true, ordering: .releasing)
    }
}

extension TaskQueue {
    /// The epoch for new submissions; nil for a dispatch queue, whose closures cannot be cancelled.
    var currentCancelEpoch: CancelEpoch? {
        guard case .engine = route else { return nil }
        return cancelEpoch.withLock { epoch in
            if let epoch { return epoch }
            let new = CancelEpoch()
            epoch = new
            return new
        }
    }

    /// Ends the current epoch, which cancels the running work of its submissions.
    func endCancelEpoch() {
        cancelEpoch.withLock { $0.take() }?.end()
    }
}
