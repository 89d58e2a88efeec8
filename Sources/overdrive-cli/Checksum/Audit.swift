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
    /// The listed files with another digest, by their index in the list.
    private var changed: [(place: Int, found: Digest)] = []
    private var unreadable: [Bytes] = []
    /// The directories and files that cannot be read.
    private var closed: Set<Bytes> = []
    private var added: [(name: Bytes, digest: Digest)] = []

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
            added.append((line.name, line.digest))
            return
        }
        listed.meet(place)
        if listed.digest(place) == line.digest { matches += 1 } else { changed.append((place, line.digest)) }
    }

    /// Records a file or directory that could not be read.
    mutating func fail(_ failure: Failure) {
        let name = failure.path
        if let place = listed.place(of: name) { listed.meet(place) }
        unreadable.append(name)
        guard ![ENOENT, ENOTDIR, Failure.specialFile, Failure.linkedDirectory].contains(failure.number) else { return }
        closed.insert(Bytes(name.last == .slash ? name.dropLast() : name[...]))
    }

    /// Returns all differences, sorted by name.
    func differences() -> [Difference] {
        var differences = changed.map { place, found in
            Difference(kind: .changed, name: listed.name(place), expected: listed.digest(place), found: found)
        }
        differences += unreadable.map { Difference(kind: .unreadable, name: $0) }
        var missing: [Digest: [Bytes]] = [:]
        // Files below an unreadable directory may exist, so they do not count as missing.
        for place in listed.unmet {
            let name = listed.name(place)
            if !closed.isEmpty, name.indices.contains(where: { name[$0] == .slash && closed.contains(Bytes(name[..<$0])) }) {
                differences.append(Difference(kind: .unreadable, name: name))
            } else {
                missing[listed.digest(place), default: []].append(name)
            }
        }
        for digest in missing.keys { missing[digest]?.sort { $1.lexicographicallyPrecedes($0) } }
        for (name, digest) in added {
            let before = missing[digest]?.popLast()
            differences.append(Difference(kind: before == nil ? .extra : .moved, name: name, before: before))
        }
        for name in missing.values.joined() { differences.append(Difference(kind: .missing, name: name)) }
        return differences.sorted { $0.name.lexicographicallyPrecedes($1.name) }
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
