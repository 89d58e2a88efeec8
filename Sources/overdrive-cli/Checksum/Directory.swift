internal import OverdriveCore

/// A directory of the tree under way. It tracks its listing, the entries handed out, and the entries emitted.
///
/// Its children hold a reference to it, and it holds its children under way until they are emitted. Names and
/// position do not change after the unit is handed out, so any thread may read them. All other state belongs to the
/// plan, under the run's lock.
final class Directory: WorkUnit, @unchecked Sendable {
    let parent: Directory?
    let depth: Int
    let indexInParent: Int
    private let nameInParent: Range<Int>
    /// Whether the user wrote a trailing slash, which makes the kernel follow a link.
    private let keepsSlash: Bool
    /// The path with a trailing slash, stored if it is short. Storing long paths would take memory quadratic in the
    /// depth of the tree.
    private let shortPrefix: Bytes?
    private static let shortLimit = 1024

    /// The result of `perform`, until the plan takes it.
    private var found: Result<Listing, SystemError>?

    private(set) var listing = Listing()
    /// The children under way, from the first one not emitted to the last one handed out.
    private var children = Fifo<WorkUnit>()

    /// The number of entries handed out.
    private(set) var issued = 0
    var isIssued: Bool { issued == listing.entries.count }
    var firstChild: WorkUnit? { children.first }

    /// The parent of all paths that the user named.
    init(roots: Listing) {
        parent = nil
        depth = 0
        indexInParent = 0
        nameInParent = 0..<0
        keepsSlash = false
        shortPrefix = []
        listing = roots
        super.init()
        isDone = true
    }

    /// Creates the child of `parent` at entry `index`.
    init(in parent: Directory, at index: Int, keepsSlash: Bool) {
        let entry = parent.listing.entries[index]
        self.parent = parent
        depth = parent.depth + 1
        indexInParent = index
        nameInParent = entry.range
        self.keepsSlash = keepsSlash
        if let above = parent.shortPrefix, above.count + nameInParent.count <= Self.shortLimit {
            shortPrefix = above + parent.listing.names[nameInParent]
        } else {
            shortPrefix = nil
        }
    }

    /// The path with a trailing slash.
    private var prefix: Bytes {
        if let shortPrefix { return shortPrefix }
        var names: [ArraySlice<UInt8>] = []
        var node = self
        while node.shortPrefix == nil, let parent = node.parent {
            names.append(parent.listing.names[node.nameInParent])
            node = parent
        }
        return names.reversed().reduce(into: node.shortPrefix ?? []) { $0 += $1 }
    }

    /// The path, for messages and system calls.
    var path: Bytes {
        var path = prefix
        if !keepsSlash, path.count > 1 { path.removeLast() }
        return path
    }

    /// Returns the path of the entry with that name.
    func path(of name: Range<Int>) -> Bytes {
        prefix + listing.names[name]
    }

    override func perform(with reader: FileReader) {
        found = Listing.read(path, reader.selection)
    }

    // MARK: For the plan, under the lock

    /// Takes the result of `perform`.
    ///
    /// - Returns: The error, if there is no listing.
    func takeListing() -> SystemError? {
        defer { found = nil }
        switch found {
        case .success(let listing): self.listing = listing
        case .failure(let error): return error
        case nil: break
        }
        return nil
    }

    /// Records that the next entry was handed out as `unit`.
    func issue(_ unit: WorkUnit) {
        children.append(unit)
        issued += 1
    }

    /// Records that the first child under way was emitted, and releases it. After the last child the names are
    /// released too.
    func emit() {
        children.popFirst()
        if issued - children.count == listing.entries.count {
            (children, issued) = (Fifo(), 0)
            listing = Listing()
        }
    }

    /// Returns whether the remaining entries of this directory come before those of `other`.
    func precedes(_ other: Directory) -> Bool {
        var left = self
        var right = other
        while left.depth > right.depth, let parent = left.parent { left = parent }
        while right.depth > left.depth, let parent = right.parent { right = parent }
        // A directory handed out its descendant earlier, so its remaining entries come later.
        if left === right { return depth > other.depth }
        while let above = left.parent, let beside = right.parent, above !== beside {
            left = above
            right = beside
        }
        return left.indexInParent < right.indexInParent
    }
}
