internal import Synchronization

/// The time between two calls of ``TaskQueue/cancelAll()``: what was submitted in it and runs when it ends is told.
final class CancelEpoch: Sendable {
    private let ended = Atomic(false)

    /// Whether everything that was submitted in it is cancelled.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    func end() {
        ended.store(true, ordering: .releasing)
    }
}

extension TaskQueue {
    /// The epoch of what is submitted now; nil where nothing can be taken back.
    var currentCancelEpoch: CancelEpoch? {
        guard case .engine = route else { return nil }
        return cancelEpoch.withLock { epoch in
            if let epoch { return epoch }
            let new = CancelEpoch()
            epoch = new
            return new
        }
    }

    /// Tells what has been submitted and runs.
    func endCancelEpoch() {
        cancelEpoch.withLock { $0.take() }?.end()
    }
}
