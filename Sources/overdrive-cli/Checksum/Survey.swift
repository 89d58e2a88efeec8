internal import Glibc
internal import Synchronization

/// Counts files and bytes concurrently with the job, so that the progress bar knows the total.
///
/// It visits one directory at a time, each in a closure on the job's engine, so that the job can continue.
final class Survey: Sendable {
    private let waiting: Mutex<[Bytes]>
    private let files = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)
    private let isComplete = Atomic<Bool>(false)

    private let selection: Selection

    init(_ roots: Roots, _ selection: Selection = Selection()) {
        self.selection = selection
        var directories: [Bytes] = []
        var fileCount = 0
        var byteCount = 0
        for entry in roots.listing.entries {
            let path = Bytes(roots.listing.name(of: entry))
            switch entry.kind {
            case .directory: directories.append(path)
            case .file, .linkedFile, .standardInput:
                fileCount += 1
                byteCount += entry.kind == .file ? Self.size(path) : 0
            }
        }
        waiting = Mutex(directories)
        files.store(fileCount, ordering: .relaxed)
        bytes.store(byteCount, ordering: .relaxed)
    }

    /// The sums, once all directories were visited; nil before.
    var total: (files: Int, bytes: Int)? {
        // Acquire: pairs with the release in `step`, so that the sums are complete.
        guard isComplete.load(ordering: .acquiring) else { return nil }
        return (files.load(ordering: .relaxed), bytes.load(ordering: .relaxed))
    }

    /// Starts counting. It ends after the last directory, or soon after `stop` is set.
    func start(on engine: any Engine, until stop: StopFlag) {
        engine.submit { self.step(on: engine, until: stop) }
    }

    private func step(on engine: any Engine, until stop: StopFlag) {
        guard !stop.isSet else { return }
        guard let directory = waiting.withLock({ $0.popLast() }) else {
            isComplete.store(true, ordering: .releasing)
            return
        }
        if case .success(let listing) = Listing.read(directory, selection) { count(listing, in: directory) }
        engine.submit { self.step(on: engine, until: stop) }
    }

    private func count(_ listing: Listing, in directory: Bytes) {
        var subdirectories: [Bytes] = []
        var fileCount = 0
        var byteCount = 0
        for entry in listing.entries {
            let path = directory + listing.name(of: entry)
            switch entry.kind {
            case .directory: subdirectories.append(path)
            case .file, .linkedFile, .standardInput:
                fileCount += 1
                byteCount += Self.size(path)
            }
        }
        files.add(fileCount, ordering: .relaxed)
        bytes.add(byteCount, ordering: .relaxed)
        waiting.withLock { $0 += subdirectories }
    }

    private static func size(_ path: Bytes) -> Int {
        var status = stat()
        return path.withCString { lstat($0, &status) } == 0 ? Int(status.st_size) : 0
    }
}
