// Owns a cancel flag that running work can read. Work items use it. It never stops a thread.

internal import Synchronization

/// Work with a cancel flag.
final class CancellableWork: CurrentWork {
    private let requested = Atomic(false)

    var isRequested: Bool { requested.load(ordering: .acquiring) }

    func cancel() {
        requested.store(true, ordering: .releasing)
    }
}
