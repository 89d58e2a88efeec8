import Foundation

/// An operation that finishes when its answer comes, as they are written for OperationQueue.
final class Listing: Operation, @unchecked Sendable {
    private let directory: URL
    private let lock = NSLock()
    private var found: [URL] = []
    private var over = false

    init(_ directory: URL) {
        self.directory = directory
    }

    var files: [URL] { lock.withLock { found } }

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { lock.withLock { over } }

    override func start() {
        guard !isCancelled else { return finish([]) }
        DispatchQueue.global(qos: .utility).async {
            let all = FileManager.default.enumerator(at: self.directory, includingPropertiesForKeys: nil)
            let files = (all?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            self.finish(files.sorted { $0.path < $1.path })
        }
    }

    private func finish(_ files: [URL]) {
        willChangeValue(forKey: "isFinished")
        lock.withLock {
            found = files
            over = true
        }
        didChangeValue(forKey: "isFinished")
    }
}
