internal import Synchronization

/// A closure of a queue that a task awaits: cancelled with the task before it starts, and told so while it runs.
@safe final class AwaitedClosure: CurrentWork {
    private enum Stage {
        static let new: UInt8 = 0, waiting: UInt8 = 1, running: UInt8 = 2
        /// It will not run.
        static let over: UInt8 = 3
    }

    private let stage = Atomic(Stage.new)
    private let requested = Atomic(false)
    private let epoch: CancelEpoch?
    // Written before it waits, used once by whoever takes it out of that.
    private nonisolated(unsafe) var continuation: UnsafeContinuation<Void, any Error>?

    /// - Parameter epoch: Whose end is told to the closure, too.
    init(in epoch: CancelEpoch?) {
        self.epoch = epoch
    }

    var isRequested: Bool {
        requested.load(ordering: .acquiring) || epoch?.hasEnded == true
    }

    /// It is about to be submitted. False: it is cancelled already, and the task goes on.
    func begin(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
        unsafe self.continuation = continuation
        let begins = advance(from: Stage.new, to: Stage.waiting)
        if !begins { unsafe continuation.resume(throwing: CancellationError()) }
        return begins
    }

    func cancel() {
        requested.store(true, ordering: .releasing)
        if !advance(from: Stage.new, to: Stage.over) { refuse(CancellationError()) }
    }

    /// It is not to run, unless it has started.
    func refuse(_ error: any Error) {
        if advance(from: Stage.waiting, to: Stage.over) { unsafe continuation?.resume(throwing: error) }
    }

    private func advance(from present: UInt8, to next: UInt8) -> Bool {
        stage.compareExchange(expected: present, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    /// What the queue holds, and nobody else once it is submitted: one that is discarded instead of run takes its closure with it.
    final class Turn: @unchecked Sendable {
        private let closure: AwaitedClosure
        private let tracker: ProgressTracker?
        private let body: () throws -> Void

        init(of closure: AwaitedClosure, _ tracker: ProgressTracker?, _ body: @escaping () throws -> Void) {
            self.closure = closure
            self.tracker = tracker
            self.body = body
        }

        func run() {
            guard closure.advance(from: Stage.waiting, to: Stage.running) else { return }
            let outcome: (any Error)?
            do {
                try closure.whileCurrent(body)
                outcome = nil
            } catch {
                tracker?.noteFailure()
                outcome = error
            }
            HandOver.sends(by: closure)
            if let outcome { unsafe closure.continuation?.resume(throwing: outcome) } else { unsafe closure.continuation?.resume() }
        }

        deinit {
            if closure.stage.load(ordering: .acquiring) != Stage.running { closure.cancel() }
        }
    }
}
