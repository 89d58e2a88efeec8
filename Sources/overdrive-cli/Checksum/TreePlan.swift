/// Walks directory trees in the order of their paths, with many directories and files under way at once.
///
/// The next unit is always the first one in order that no worker has. Units under way, and results that wait for an
/// earlier one, thus stay close together. Memory depends on their number and on the largest directories, not on the
/// size of the tree.
final class TreePlan: Plan {
    /// The number of results that may wait for an earlier one. Beyond it, only units that come before them are handed
    /// out.
    static let heldLimit = 8192

    private let root: Directory
    /// The directories with entries to hand out. The first one in order is the last element.
    private var open: [Directory]
    /// The directory with the first entry that is not emitted.
    private var frontier: Directory
    private var held = 0

    private(set) var failures: FailureList
    private(set) var peakHeld = 0
    private(set) var directoryCount = 0
    private let followedRoots: Set<Int>
    /// Whether results and failures are printed as JSON.
    private let json: Bool
    private let style: ChecksumLine.Style

    /// - Parameter mostFailures: The number of failures that are kept with their names.
    init(
        _ roots: Roots, json: Bool = false, style: ChecksumLine.Style = .init(), mostFailures: Int = FailureList.capacity
    ) {
        self.json = json
        self.style = style
        root = Directory(roots: roots.listing)
        open = [root]
        frontier = root
        followedRoots = roots.followed
        failures = roots.failures
        failures.capacity = mostFailures
    }

    var isFinished: Bool {
        frontier === root && root.listing.entries.isEmpty
    }

    func begin(into output: inout Bytes) {
        guard json else { return }
        for failure in failures.kept.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            JSONLine.failure(failure.path, failure.sentence, to: &output)
        }
    }

    func next() -> WorkUnit? {
        while let directory = open.last, directory.isIssued { open.removeLast() }
        guard let directory = open.last else { return nil }
        let isNextToEmit = directory === frontier && directory.firstChild == nil
        guard held < Self.heldLimit || isNextToEmit else { return nil }

        let index = directory.issued
        let entry = directory.listing.entries[index]
        let unit: WorkUnit
        switch entry.kind {
        case .directory:
            directoryCount += 1
            unit = Directory(
                in: directory, at: index,
                keepsSlash: directory === root && followedRoots.contains(index)
            )
        case .file, .linkedFile, .standardInput:
            held += 1
            peakHeld = max(peakHeld, held)
            unit = FileUnit(in: directory, entry, json: json, style: style)
        }
        directory.issue(unit)
        return unit
    }

    func finish(_ unit: WorkUnit, into output: inout Bytes) {
        unit.isDone = true
        if let directory = unit as? Directory {
            if let error = directory.takeListing() {
                fail(Failure(path: directory.path, number: error.number), into: &output)
            }
            if !directory.isIssued { insert(directory) }
        }
        advance(into: &output)
    }

    /// Emits all results that are next in order.
    private func advance(into output: inout Bytes) {
        while frontier.isDone {
            if frontier.listing.entries.isEmpty {
                // The directory is empty, unreadable, or emitted completely.
                guard let parent = frontier.parent else { return }
                frontier = parent
                parent.emit()
            } else if let directory = frontier.firstChild as? Directory {
                frontier = directory
            } else if let file = frontier.firstChild as? FileUnit, file.isDone {
                switch file.outcome {
                case .success(let line): output += line
                case .failure(let failure): fail(failure, into: &output)
                }
                held -= 1
                frontier.emit()
            } else {
                return
            }
        }
    }

    private func fail(_ failure: Failure, into output: inout Bytes) {
        failures.append(failure)
        if json, !Descriptors.isShortage(failure.number) { JSONLine.failure(failure.path, failure.sentence, to: &output) }
    }

    private func insert(_ directory: Directory) {
        var low = 0
        var high = open.count
        while low < high {
            let middle = (low + high) / 2
            if directory.precedes(open[middle]) { low = middle + 1 } else { high = middle }
        }
        open.insert(directory, at: low)
    }
}

/// A file of a tree.
final class FileUnit: WorkUnit, @unchecked Sendable {
    private let directory: Directory
    private let name: Range<Int>
    private let kind: Listing.Kind
    private let json: Bool
    private let style: ChecksumLine.Style
    /// The file's line, after `perform`.
    private(set) var outcome: Result<Bytes, Failure> = .success([])

    init(in directory: Directory, _ entry: Listing.Entry, json: Bool, style: ChecksumLine.Style) {
        self.directory = directory
        (self.json, self.style) = (json, style)
        name = entry.range
        kind = entry.kind
    }

    override func perform(with reader: FileReader) {
        let path = directory.path(of: name)
        let digest =
            kind == .standardInput
            ? reader.digestOfStandardInput() : reader.digest(path, links: kind == .file ? .refused : .followed)
        outcome = digest.map { digest in
            var line = Bytes()
            line.reserveCapacity(path.count + digest.algorithm.byteCount * 2 + 4)
            if json {
                JSONLine.file(path, digest, to: &line)
            } else {
                ChecksumLine(digest: digest, name: path).write(style, to: &line)
            }
            return line
        }.mapError { Failure(path: path, number: $0.number) }
    }
}
