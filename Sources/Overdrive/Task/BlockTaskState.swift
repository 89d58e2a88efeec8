internal import Synchronization

/// The blocks of a ``BlockTask``.
final class BlockTaskState: Sendable {
    private struct State {
        var blocks: [@Sendable () -> Void] = []
        var hasBegun = false
        var isOver = false
    }
    private let state = Locked(State())

    private let reached = Atomic(0)

    /// How many blocks were come to, beside the first. Relaxed, all: ordered by the group of the blocks.
    var reachedCount: Int { reached.load(ordering: .relaxed) }

    func reachOne() { reached.add(1, ordering: .relaxed) }

    var blocks: [@Sendable () -> Void] { state.withLock { $0.blocks } }

    /// False: the task has begun.
    func add(_ block: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if !state.hasBegun, !state.isOver { state.blocks.append(block) }
            return !state.hasBegun
        }
    }

    /// The task is over: it releases its blocks.
    func drop() {
        let blocks = state.withLock { state in
            state.isOver = true
            defer { state.blocks = [] }
            return state.blocks
        }
        withExtendedLifetime(blocks) {}  // given up without the lock
    }

    /// An attempt begins: no block of the one before runs any more.
    func begin() -> [@Sendable () -> Void] {
        state.withLock { state in
            reached.store(0, ordering: .relaxed)
            state.hasBegun = true
            return state.blocks
        }
    }
}
