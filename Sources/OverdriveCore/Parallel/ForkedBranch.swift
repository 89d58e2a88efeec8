// Owns the state by which a join with errors cancels its second branch. `Parallel.join` creates it on the stack. It
// never forks or joins.

public import Synchronization

/// The state of the second branch of a throwing join: not started, running on a thief, or abandoned.
///
/// The state lives in the joiner's stack frame, and costs one store as long as no thief takes the branch.
@usableFromInline
struct ForkedBranch: ~Copyable {
    /// 0, a retained ``ForkedWork`` of the running branch, or `abandoned`.
    @usableFromInline let word = Atomic<UInt>(0)

    @inlinable
    @inline(__always)
    init() {}

    private static var abandoned: UInt { 1 }

    /// Runs `body`, unless the first branch has already thrown.
    @usableFromInline
    func run(_ body: () -> Void) {
        let work = ForkedWork(outer: CurrentWorkPlace.currentOrTask)
        let retained = unsafe Unmanaged.passRetained(work)
        // The exchanges of `run` and `abandon` are ordered. If `abandon` is second, it finds the initialised work and
        // cancels it; otherwise the branch does not start.
        let word = unsafe UInt(bitPattern: retained.toOpaque())
        guard self.word.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing).exchanged else {
            unsafe retained.release()
            return
        }
        work.whileCurrent(body)
    }

    /// Abandons the branch after the first branch has thrown. The caller joins the fork afterwards.
    @usableFromInline
    func abandon() {
        if let work = unsafe work(in: word.compareExchange(
            expected: 0, desired: ForkedBranch.abandoned, ordering: .acquiringAndReleasing
        ).original) {
            unsafe work._withUnsafeGuaranteedRef { $0.cancel() }
        }
    }

    /// Releases the work of the branch. Call after the join, when no other thread uses the word.
    @usableFromInline
    func end() {
        // Relaxed: the join orders this load after the writes of the thief.
        unsafe work(in: word.load(ordering: .relaxed))?.release()
    }

    private func work(in word: UInt) -> Unmanaged<ForkedWork>? {
        guard word != ForkedBranch.abandoned, let work = unsafe UnsafeRawPointer(bitPattern: word) else { return nil }
        return unsafe Unmanaged.fromOpaque(work)
    }
}

/// The current work of a branch that runs on a thief, or on the joiner after it took back the fork.
private final class ForkedWork: CurrentWork {
    private let cancelled = Atomic(false)
    /// The work that was current before: inherited from the joiner, or the joiner's own.
    private let outer: (any CurrentWork)?

    init(outer: (any CurrentWork)?) {
        self.outer = outer
    }

    var isRequested: Bool {
        // Relaxed: the flag only says that the result is not needed.
        cancelled.load(ordering: .relaxed) || outer?.isRequested ?? false
    }

    func cancel() {
        cancelled.store(true, ordering: .relaxed) // Relaxed: the flag only says that the result is not needed.
    }
}
