internal import CScheduler
internal import Synchronization

/// Work that can be cancelled before it starts, and told so while it runs.
final class CancellableWork: CurrentWork {
    private enum State {
        case new
        case waiting(onCancel: @Sendable () -> Void)
        case running
        case cancelledEarly
    }

    private let state = Locked(State.new)
    private let requested = Atomic(false)
    private let epoch: CancelEpoch?

    /// - Parameter epoch: Whose end is told to the work, too.
    init(in epoch: CancelEpoch? = nil) {
        self.epoch = epoch
    }

    var isRequested: Bool {
        requested.load(ordering: .acquiring) || epoch?.hasEnded == true
    }

    /// The work is about to be submitted. False: it is cancelled already, and `onCancel` has been called.
    func begin(onCancelBeforeStart onCancel: @escaping @Sendable () -> Void) -> Bool {
        let isCancelled = state.withLock { state in
            if case .cancelledEarly = state { return true }
            state = .waiting(onCancel: onCancel)
            return false
        }
        if isCancelled { onCancel() }
        return !isCancelled
    }

    /// The work's turn has come. False: it was cancelled before.
    func start() -> Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            state = .running
            return true
        }
    }

    func cancel() {
        requested.store(true, ordering: .releasing)
        let onCancel: (@Sendable () -> Void)? = state.withLock { state in
            switch state {
            case .new:
                state = .cancelledEarly
                return nil
            case .waiting(let onCancel):
                state = .cancelledEarly
                return onCancel
            case .running, .cancelledEarly:
                return nil
            }
        }
        onCancel?()
    }

    /// What the queue's closure holds, and nobody else: a closure that is discarded instead of run takes its
    /// work with it.
    final class Stub: Sendable {
        private let work: CancellableWork

        init(of work: CancellableWork) {
            self.work = work
        }

        /// Keeps the stub until here.
        func keep() {}

        deinit {
            work.cancel()
        }
    }
}
