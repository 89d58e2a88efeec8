internal import Glibc

/// How a tree differs from a list that was made of it: what is missing, extra, moved or changed.
///
/// A file that is not in the list moved there when the list has its digest under a name that no file has any more.
struct Audit {
    struct Difference: Equatable {
        enum Kind: String { case changed, extra, missing, moved, unreadable }
        var kind: Kind
        var name: Bytes
        /// Where what has moved was.
        var before: Bytes?
        /// The digest in the list and the one found, of what has changed.
        var expected: Digest?
        var found: Digest?
    }

    private(set) var matches = 0
    private(set) var malformed = 0
    private var listed = ListedFiles()
    /// The listed files that are there with another digest, by their places in the list.
    private var changed: [(place: Int, found: Digest)] = []
    private var unreadable: [Bytes] = []
    /// What is there and cannot be read: a directory, or a file.
    private var closed: Set<Bytes> = []
    private var added: [(name: Bytes, digest: Digest)] = []

    /// The algorithm of the list's digests; nil for a list without a line.
    var algorithm: Algorithm? { listed.algorithm }

    init() {}

    /// Reads a list.
    ///
    /// - Throws: A sentence when it cannot be read, has no line, or more than one kind of digest.
    init(_ lines: LineReader, named list: String) throws(BatchRefusal) {
        try add(lines, named: list)
    }

    /// Reads a further list.
    ///
    /// - Parameter selection: The files of the list that count.
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

    /// Takes a file of the tree.
    mutating func meet(_ line: ChecksumLine) {
        guard let place = listed.place(of: line.name) else {
            added.append((line.name, line.digest))
            return
        }
        listed.meet(place)
        if listed.digest(place) == line.digest { matches += 1 } else { changed.append((place, line.digest)) }
    }

    /// Takes a file of the tree, or a directory, that could not be read.
    mutating func fail(_ failure: Failure) {
        let name = failure.path
        if let place = listed.place(of: name) { listed.meet(place) }
        unreadable.append(name)
        guard ![ENOENT, ENOTDIR, Failure.specialFile, Failure.linkedDirectory].contains(failure.number) else { return }
        closed.insert(Bytes(name.last == .slash ? name.dropLast() : name[...]))
    }

    /// All differences, in the order of their names.
    func differences() -> [Difference] {
        var differences = changed.map { place, found in
            Difference(kind: .changed, name: listed.name(place), expected: listed.digest(place), found: found)
        }
        differences += unreadable.map { Difference(kind: .unreadable, name: $0) }
        var missing: [Digest: [Bytes]] = [:]
        // Of what is in a directory that cannot be read nobody knows whether it is missing.
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

/// A walk whose files are held against a list.
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
    /// Prints the differences, one to a line, and says how many files are as they were.
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
