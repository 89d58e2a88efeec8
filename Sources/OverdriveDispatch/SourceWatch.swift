internal import Dispatch
internal import Synchronization

/// A source of libdispatch's that watches for one of ours.
///
/// A descriptor that can be read is told again and again until it is read: so the watch rests from one event until ours
/// has handled it.
final class SourceWatch: @unchecked Sendable {
    // libdispatch guards it.
    private let theirs: any Dispatch.DispatchSourceProtocol
    /// It watches a descriptor, whose data may be 0: what comes with the end of a stream.
    let isLevel: Bool
    private let isOnce: Bool
    private let data: UInt?
    private let onEnd: @Sendable () -> Void
    private let isActive = Atomic(false)
    private let isResting = Atomic(false)
    private let ended = Atomic(false)
    private let gone = Atomic(false)

    init(
        _ theirs: any Dispatch.DispatchSourceProtocol, isLevel: Bool = false, isOnce: Bool = false, data: UInt? = nil,
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.theirs = theirs
        self.isLevel = isLevel
        self.isOnce = isOnce
        self.data = data
        self.onEnd = onEnd
    }

    /// Whether it is over, and libdispatch knows the descriptor no more.
    var isGone: Bool { gone.load(ordering: .acquiring) }

    func start(telling core: SourceCore) {
        theirs.setEventHandler { [unowned self] in
            if isLevel {
                let data = self.data ?? theirs.data
                theirs.suspend()
                isResting.store(true, ordering: .sequentiallyConsistent)
                // Who ended the watch since could not know that it rests.
                if ended.load(ordering: .sequentiallyConsistent) { return wake() }
                // One more than it is: what is pending is not 0.
                core.merge(data &+ 1) { _, new in new }
            } else {
                core.merge(max(theirs.data, 1), by: &+)
            }
        }
        theirs.setCancelHandler { [self] in
            gone.store(true, ordering: .releasing)
            onEnd()
            core.watchIsGone()
        }
    }

    func activate() {
        guard !isActive.exchange(true, ordering: .acquiringAndReleasing) else { return }
        theirs.activate()
    }

    /// Ours has handled the event.
    func handled() {
        if !isOnce { wake() }
    }

    private func wake() {
        if isResting.exchange(false, ordering: .sequentiallyConsistent) { theirs.resume() }
    }

    /// Ends the watch; libdispatch says when it is over, which it does for an active source alone.
    func end() {
        guard !ended.exchange(true, ordering: .sequentiallyConsistent) else { return }
        theirs.cancel()
        activate()
        wake()
    }
}
