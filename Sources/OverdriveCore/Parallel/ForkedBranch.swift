public import Synchronization

/// The second branch of a join that may throw, as far as thieves are concerned: not begun, or run by one who can
/// be told that its result is not needed any more.
///
/// It lives in the joiner's frame, and costs a store as long as nobody takes the branch.
@usableFromInline
struct ForkedBranch: ~Copyable {
    /// 0; or what whoever runs the branch asks, retained; or `abandoned`.
    @usableFromInline let word = Atomic<UInt>(0)

    @inlinable
    @inline(__always)
    init() {}

    private static var abandoned: UInt { 1 }

    /// Runs `body`, unless the first branch has thrown already.
    @usableFromInline
    func run(_ body: () -> Void) {
        let work = ForkedWork(outer: CurrentWorkPlace.currentOrTask)
        let retained = unsafe Unmanaged.passRetained(work)
        // Whichever of the two comes first is seen by the other: `abandon` finds the work, with all that it is
        // made of, or the work does not start.
        let word = unsafe UInt(bitPattern: retained.toOpaque())
        guard self.word.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing).exchanged else {
            unsafe retained.release()
            return
        }
        work.whileCurrent(body)
    }

    /// The first branch has thrown. The caller joins afterwards.
    @usableFromInline
    func abandon() {
        if let work = unsafe work(in: word.compareExchange(
            expected: 0, desired: ForkedBranch.abandoned, ordering: .acquiringAndReleasing
        ).original) {
            unsafe work._withUnsafeGuaranteedRef { $0.cancel() }
        }
    }

    /// The branch was joined: nobody else asks for the word now.
    @usableFromInline
    func end() {
        // Relaxed: the join has ordered what its thief did before this.
        unsafe work(in: word.load(ordering: .relaxed))?.release()
    }

    private func work(in word: UInt) -> Unmanaged<ForkedWork>? {
        guard word != ForkedBranch.abandoned, let work = unsafe UnsafeRawPointer(bitPattern: word) else { return nil }
        return unsafe Unmanaged.fromOpaque(work)
    }
}

/// A branch that somebody runs for a joiner.
private final class ForkedWork: CurrentWork {
    private let cancelled = Atomic(false)
    /// What the thread was doing that runs it: what it inherited from the joiner, or is if that runs it itself.
    private let outer: (any CurrentWork)?

    init(outer: (any CurrentWork)?) {
        self.outer = outer
    }

    var isRequested: Bool {
        // Relaxed: it only says that a result is not needed.
        cancelled.load(ordering: .relaxed) || outer?.isRequested ?? false
    }

    func cancel() {
        cancelled.store(true, ordering: .relaxed) // Relaxed: as above.
    }
}
