// Owns the blocks of a BlockTask and the count of blocks that have run. Only BlockTask uses it.

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

    /// The number of blocks, besides the first, that have begun in this attempt. Relaxed: the group of the blocks
    /// orders all accesses.
    var reachedCount: Int { reached.load(ordering: .relaxed) }

    func reachOne() { reached.add(1, ordering: .relaxed) }

    var blocks: [@Sendable () -> Void] { state.withLock { $0.blocks } }

    /// Adds a block. Returns false if the task has begun.
    func add(_ block: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if !state.hasBegun, !state.isOver { state.blocks.append(block) }
            return !state.hasBegun
        }
    }

    /// Releases the blocks of a finished task.
    func drop() {
        let blocks = state.withLock { state in
            state.isOver = true
            defer { state.blocks = [] }
            return state.blocks
        }
        withExtendedLifetime(blocks) {}  // Released after the lock.
    }

    /// Begins an attempt and returns its blocks. No block of an earlier attempt is running.
    func begin() -> [@Sendable () -> Void] {
        state.withLock { state in
            reached.store(0, ordering: .relaxed)
            state.hasBegun = true
            return state.blocks
        }
    }
}
