// Owns the comparison of a directory tree with a checksum list. `AuditPlan` passes each file, and `report` prints the
// result. It never reads the tree itself.

internal import Glibc

/// The differences between a tree and a list: missing, extra, moved and changed files.
///
/// An extra file counts as moved if its digest is in the list under a name that no file has.
struct Audit {
    struct Difference: Equatable {
        enum Kind: String { case changed, extra, missing, moved, unreadable }
        var kind: Kind
        var name: Bytes
        /// The earlier name of a moved file.
        var before: Bytes?
        /// The digest in the list and the current one, for a changed file.
        var expected: Digest?
        var found: Digest?
    }

    private(set) var matches = 0
    private(set) var malformed = 0
    private var listed = ListedFiles()
    /// The listed files that are there with another digest, by their places in the list, and these digests.
    private var changed: [Int32] = []
    private var found = PackedFiles()
    private var unreadable: [Bytes] = []
    /// The directories and files that cannot be read.
    private var closed: Set<Bytes> = []
    /// The files that the list does not name.
    private var added = PackedFiles()

    /// The algorithm of the list's digests; nil for an empty list.
    var algorithm: Algorithm? { listed.algorithm }

    init() {}

    /// Reads a list.
    ///
    /// - Throws: A `BatchRefusal` if it cannot be read, is empty, or mixes algorithms.
    init(_ lines: LineReader, named list: String) throws(BatchRefusal) {
        try add(lines, named: list)
    }

    /// Reads another list.
    ///
    /// - Parameter selection: The files of the list to consider.
    mutating func add(
        _ lines: LineReader, named list: String, _ selection: Selection = Selection()
    ) throws(BatchRefusal) {
        var spacing = ChecksumLine.Spacing()
        var isEmpty = true
        reading: while true {
            switch lines.next() {
            case .success(let line?):
                guard !line.isEmpty, line.first != UInt8(ascii: "#") else { continue }
                guard let line = ChecksumLine(line, &spacing) else {
                    malformed += 1
                    continue
                }
                isEmpty = false
                if selection.excludes(path: line.name) { continue }
                guard listed.add(line.name, line.digest) else {
                    throw BatchRefusal(.data, "\(list): digests of two algorithms: audit one algorithm at a time")
                }
            case .success(nil): break reading
            case .failure(let error): throw BatchRefusal(.noInput, "\(list): \(sentence(forError: error.number))")
            }
        }
        guard !isEmpty else { throw BatchRefusal(.data, "\(list): no properly formatted checksum lines found") }
    }

    /// Records a file of the tree.
    mutating func meet(_ line: ChecksumLine) {
        guard let place = listed.place(of: line.name) else {
            _ = added.append(line.name, line.digest)
            return
        }
        listed.meet(place)
        if listed.digest(place) == line.digest {
            matches += 1
        } else {
            changed.append(Int32(place))
            _ = found.append([], line.digest)
        }
    }

    /// Records a file or directory that could not be read.
    mutating func fail(_ failure: Failure) {
        let name = failure.path
        if let place = listed.place(of: name) { listed.meet(place) }
        unreadable.append(name)
        guard ![ENOENT, ENOTDIR, Failure.specialFile, Failure.linkedDirectory].contains(failure.number) else { return }
        closed.insert(Bytes(name.last == .slash ? name.dropLast() : name[...]))
    }

    /// A difference by its places in the lists: 12 bytes, as there may be as many as files.
    private enum Noted {
        case changed(place: Int32, number: Int32)
        case extra(Int32)
        case moved(Int32, from: Int32)
        case missing(Int32)
        /// By its place in `unreadable`.
        case unreadable(Int32)
        /// In a directory that cannot be read, by its place in the list.
        case hidden(Int32)
    }

    /// All differences, in the order of their names. Each one is made when it is asked for.
    func differences() -> some RandomAccessCollection<Difference> {
        var noted: [Noted] = []
        var missing: [Int32] = []
        // At once: arrays that grow leave what they had been to the allocator.
        noted.reserveCapacity(listed.count + added.count + unreadable.count)
        if added.count > 0 { missing.reserveCapacity(listed.count) }
        for (number, place) in changed.enumerated() { noted.append(.changed(place: place, number: Int32(number))) }
        for place in unreadable.indices { noted.append(.unreadable(Int32(place))) }
        // Files below an unreadable directory may exist, so they do not count as missing.
        for place in listed.unmet.lazy.map({ Int32($0) }) {
            if isHidden(listed.name(Int(place))) {
                noted.append(.hidden(place))
            } else if added.count == 0 {
                noted.append(.missing(place))  // Nothing can have moved.
            } else {
                missing.append(place)
            }
        }
        add(missing, to: &noted)
        noted.sort { name($0).lexicographicallyPrecedes(name($1)) }
        return noted.lazy.map(difference)
    }

    private func isHidden(_ name: ArraySlice<UInt8>) -> Bool {
        guard !closed.isEmpty else { return false }
        return name.indices.contains { name[$0] == .slash && closed.contains(Bytes(name[..<$0])) }
    }

    /// Adds files that are missing, extra or moved. Of several missing files with one digest, the first name has moved first.
    private func add(_ missing: [Int32], to noted: inout [Noted]) {
        var missing = missing
        var extra = (0..<added.count).map { Int32($0) }
        if !missing.isEmpty, !extra.isEmpty {
            // Both in the order of digests, so that one pass finds the pairs.
            missing.sort {
                let (one, other) = (listed.digest(Int($0)), listed.digest(Int($1)))
                return one == other
                    ? listed.name(Int($0)).lexicographicallyPrecedes(listed.name(Int($1))) : one.precedes(other)
            }
            extra.sort {
                let (one, other) = (added.digest(Int($0)), added.digest(Int($1)))
                return one == other ? added.name(Int($0)).lexicographicallyPrecedes(added.name(Int($1))) : one.precedes(other)
            }
        }
        var rest = missing[...]
        for place in extra {
            let digest = added.digest(Int(place))
            while let first = rest.first, listed.digest(Int(first)).precedes(digest) {
                noted.append(.missing(first))
                rest.removeFirst()
            }
            if let first = rest.first, listed.digest(Int(first)) == digest {
                noted.append(.moved(place, from: first))
                rest.removeFirst()
            } else {
                noted.append(.extra(place))
            }
        }
        noted += rest.map { .missing($0) }
    }

    private func name(_ noted: Noted) -> ArraySlice<UInt8> {
        switch noted {
        case .changed(let place, _), .missing(let place), .hidden(let place): listed.name(Int(place))
        case .extra(let place), .moved(let place, _): added.name(Int(place))
        case .unreadable(let place): unreadable[Int(place)][...]
        }
    }

    private func difference(_ noted: Noted) -> Difference {
        let name = Bytes(self.name(noted))
        return switch noted {
        case .changed(let place, let number):
            Difference(kind: .changed, name: name, expected: listed.digest(Int(place)), found: found.digest(Int(number)))
        case .extra: Difference(kind: .extra, name: name)
        case .moved(_, let before): Difference(kind: .moved, name: name, before: Bytes(listed.name(Int(before))))
        case .missing: Difference(kind: .missing, name: name)
        case .unreadable, .hidden: Difference(kind: .unreadable, name: name)
        }
    }
}

/// A walk that compares the files with a list.
final class AuditPlan: Plan {
    private let tree: TreePlan
    private(set) var audit: Audit

    init(_ tree: TreePlan, _ audit: Audit) {
        (self.tree, self.audit) = (tree, audit)
    }

    var isFinished: Bool { tree.isFinished }
    var failures: FailureList { tree.failures }
    var peakHeld: Int { tree.peakHeld }

    func next() -> WorkUnit? { tree.next() }

    func finish(_ unit: WorkUnit, into output: inout Bytes) {
        var lines = Bytes()
        tree.finish(unit, into: &lines)
        for line in lines.split(separator: 10) {
            if let line = ChecksumLine(line) { audit.meet(line) }
        }
    }
}

extension Audit {
    /// Prints the differences, one on a line, and the number of unchanged files.
    func report(json: Bool) -> ExitStatus {
        let output = OrderedOutput()
        let differences = differences()
        for difference in differences {
            var line = Bytes()
            if json {
                JSONLine.verdict(difference.kind.rawValue, of: difference.name, before: difference.before,
                    expected: difference.expected, found: difference.found, to: &line)
            } else {
                line = Bytes(ascii: "\(difference.kind.rawValue): ")
                if let before = difference.before { line += before.printable + Bytes(ascii: " -> ") }
                line += difference.name.printable + [10]
            }
            output.append(line)
        }
        if let status = output.status { return status }
        if malformed > 0 { StandardError.say("WARNING: \(malformed) lines of the list are improperly formatted") }
        return differences.isEmpty ? .success : .someFailed
    }
}
