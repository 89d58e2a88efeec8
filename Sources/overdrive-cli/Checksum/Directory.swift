internal import OverdriveCore

/// A directory of the tree under way: listed or not yet, with some of its entries handed out and,
/// of those, some emitted.
///
/// Its children hold it, and it holds those of its children that are under way, until they are
/// emitted. Names and position never change once its unit is handed out, and may be read on any
/// thread; all else belongs to the plan, under the run's lock.
final class Directory: WorkUnit, @unchecked Sendable {
    let parent: Directory?
    let depth: Int
    let indexInParent: Int
    private let nameInParent: Range<Int>
    /// Whether the user wrote the slash at its end, which has the kernel follow a link.
    private let keepsSlash: Bool
    /// The path with its slash, kept where it is short: a deep tree of long names would otherwise take
    /// the square of its depth.
    private let shortPrefix: Bytes?
    private static let shortLimit = 1024

    /// What `perform` found, until the plan takes it over.
    private var found: Result<Listing, SystemError>?

    private(set) var listing = Listing()
    /// The children under way, from the first one not emitted to the last one handed out.
    private var children = Fifo<WorkUnit>()

    /// How many entries were handed out.
    private(set) var issued = 0
    var isIssued: Bool { issued == listing.entries.count }
    var firstChild: WorkUnit? { children.first }

    /// The directory that stands above every path that the user named.
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

    /// The child of `parent` at its entry `index`.
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

    /// The path, with a slash at its end.
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

    /// The path, as a message shows it and as the kernel takes it.
    var path: Bytes {
        var path = prefix
        if !keepsSlash, path.count > 1 { path.removeLast() }
        return path
    }

    /// The path of the entry with that name.
    func path(of name: Range<Int>) -> Bytes {
        prefix + listing.names[name]
    }

    override func perform(with reader: FileReader) {
        found = Listing.read(path, reader.selection)
    }

    // MARK: For the plan, under the lock

    /// Takes over what `perform` found.
    ///
    /// - Returns: Why there is no listing, if there is none.
    func takeListing() -> SystemError? {
        defer { found = nil }
        switch found {
        case .success(let listing): self.listing = listing
        case .failure(let error): return error
        case nil: break
        }
        return nil
    }

    /// Notes that the next entry was handed out as `unit`.
    func issue(_ unit: WorkUnit) {
        children.append(unit)
        issued += 1
    }

    /// Notes that the first child under way was emitted, and lets go of it; after the last one, of the
    /// names too, which nobody reads any more.
    func emit() {
        children.popFirst()
        if issued - children.count == listing.entries.count {
            (children, issued) = (Fifo(), 0)
            listing = Listing()
        }
    }

    /// Whether this directory's entries come before those of `other`, which is another one, that
    /// neither of them has handed out yet.
    func precedes(_ other: Directory) -> Bool {
        var left = self
        var right = other
        while left.depth > right.depth, let parent = left.parent { left = parent }
        while right.depth > left.depth, let parent = right.parent { right = parent }
        // A directory above another was past it when it handed it out.
        if left === right { return depth > other.depth }
        while let above = left.parent, let beside = right.parent, above !== beside {
            left = above
            right = beside
        }
        return left.indexInParent < right.indexInParent
    }
}
