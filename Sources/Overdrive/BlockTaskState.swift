internal import Synchronization

/// The blocks of a ``BlockTask``.
final class BlockTaskState: Sendable {
    private struct State {
        var blocks: [@Sendable () -> Void] = []
        var hasBegun = false
    }
    private let state = Locked(State())

    var blocks: [@Sendable () -> Void] { state.withLock { $0.blocks } }

    /// False: the task has begun.
    func add(_ block: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if !state.hasBegun { state.blocks.append(block) }
            return !state.hasBegun
        }
    }

    func begin() -> [@Sendable () -> Void] {
        state.withLock { state in
            state.hasBegun = true
            return state.blocks
        }
    }
}
