internal import Synchronization

/// Work that can be told to stop.
final class CancellableWork: CurrentWork {
    private let requested = Atomic(false)

    var isRequested: Bool { requested.load(ordering: .acquiring) }

    func cancel() {
        requested.store(true, ordering: .releasing)
    }
}
