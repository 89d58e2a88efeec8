// Owns the libdispatch source behind a `SourceCore`. It reports events to the core and never calls a handler.

internal import Dispatch
internal import Synchronization

/// A libdispatch source that watches a descriptor or signal for a `SourceCore`.
///
/// libdispatch would report a readable descriptor repeatedly. The watch therefore rests from one event until the core
/// has handled it.
final class SourceWatch: @unchecked Sendable {
    // libdispatch makes its own object thread-safe.
    private let theirs: any Dispatch.DispatchSourceProtocol
    /// Whether the watch is on a descriptor. Its data may then be 0, at the end of a stream.
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

    /// Whether libdispatch has released the descriptor.
    var isGone: Bool { gone.load(ordering: .acquiring) }

    func start(telling core: SourceCore) {
        theirs.setEventHandler { [unowned self] in
            if isLevel {
                let data = self.data ?? theirs.data
                theirs.suspend()
                isResting.store(true, ordering: .sequentiallyConsistent)
                // A thread that ended the watch before this store could not see that the watch rests.
                if ended.load(ordering: .sequentiallyConsistent) { return wake() }
                // The data plus one, because pending data of 0 means no event.
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

    /// Resumes the watch after the core has handled the event.
    func handled() {
        if !isOnce { wake() }
    }

    private func wake() {
        if isResting.exchange(false, ordering: .sequentiallyConsistent) { theirs.resume() }
    }

    /// Cancels the watch. libdispatch confirms the end of active sources only, so the watch is activated.
    func end() {
        guard !ended.exchange(true, ordering: .sequentiallyConsistent) else { return }
        theirs.cancel()
        activate()
        wake()
    }
}
