internal import Glibc
internal import OverdriveBatch

/// The items of a job as they were when it began, in a file beside its journal: whoever runs a shard, whenever, has
/// the same list, whatever was created or removed meanwhile.
///
/// Each item is its size in digits, a tab, its name and a zero byte: `tr '\0' '\n' <manifest` shows them.
struct Manifest: RandomAccessCollection, Sendable {
    private let names: Bytes
    private let starts: [Int]
    /// What each item costs: its size, and for each one as much as opening a file takes.
    let weights: [Int]

    var startIndex: Int { 0 }
    var endIndex: Int { starts.count }

    subscript(index: Int) -> Bytes {
        let end = index + 1 < starts.count ? starts[index + 1] : names.count
        return Bytes(names[starts[index]..<end])
    }

    /// Collects items.
    struct Builder {
        fileprivate var text = Bytes()

        mutating func append(_ name: Bytes, size: Int = 0) {
            text += Bytes(ascii: "\(size)\t")
            text += name
            text.append(0)
        }
    }

    /// The manifest in `directory`; where there is none, the one that `make` gives, which is kept there.
    ///
    /// - Throws: A sentence.
    static func frozen(in directory: String, make: () -> Builder) throws(BatchRefusal) -> Manifest {
        let path = "\(directory)/manifest"
        if let kept = try read(path) { return kept }
        let text = make().text
        guard Folder.make(directory) else { throw .system(directory, "making it", .output) }
        // Written whole under another name: nobody ever sees half a list. Who comes second takes the first one's.
        let draft = "\(path).\(getpid())"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw .system(draft, "making it") }
        let error = StandardStreams.write(text[...], to: file) { false }
        let isSafe = error == 0 && fsync(file) == 0
        if error != 0 { errno = error }
        guard isSafe, close(file) == 0 else {
            defer { unlink(draft) }
            throw .system(draft, "writing")
        }
        defer { unlink(draft) }
        guard link(draft, path) == 0 || errno == EEXIST else { throw .system(path, "making it") }
        Folder.synchronise(above: Bytes(ascii: path))
        guard let kept = try read(path) else { throw .system(path, "reading") }
        return kept
    }

    /// The manifest at `path`; nil where there is none.
    static func read(_ path: String) throws(BatchRefusal) -> Manifest? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(path, "opening it")
        }
        defer { close(file) }
        guard let text = readAll(file) else { throw .system(path, "reading") }
        guard let manifest = Manifest(text) else {
            throw BatchRefusal(
                .data, "\(path): damaged, so nothing was done: start over with another journal")
        }
        return manifest
    }

    init?(_ text: Bytes) {
        var names = Bytes()
        names.reserveCapacity(text.count)
        var starts: [Int] = []
        var weights: [Int] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard let tab = rest.firstIndex(of: 9), let end = rest[tab...].firstIndex(of: 0),
                let size = Int(String(decoding: rest[..<tab], as: UTF8.self))
            else { return nil }
            starts.append(names.count)
            weights.append(size + Int(ProgressBar.costOfFile))
            names += rest[(tab + 1)..<end]
            rest = rest[(end + 1)...]
        }
        (self.names, self.starts, self.weights) = (names, starts, weights)
    }

    /// All that a descriptor gives up to its end; nil when reading fails.
    static func readAll(_ descriptor: Int32) -> Bytes? {
        var all = Bytes()
        while true {
            var count = 0
            let piece = Bytes(unsafeUninitializedCapacity: 1 << 20) { place, used in
                count = Glibc.read(descriptor, place.baseAddress, place.count)
                used = count > 0 ? count : 0
            }
            if count == 0 { return all }
            if count < 0, errno != EINTR { return nil }
            all += piece
        }
    }
}

/// A sentence that ends the command, with its exit code.
struct BatchRefusal: Error, CustomStringConvertible {
    var status: ExitStatus
    var sentence: String

    var description: String { sentence }

    init(_ status: ExitStatus, _ sentence: String) {
        (self.status, self.sentence) = (status, sentence)
    }

    /// A call that failed, by `errno`.
    static func system(_ path: String, _ call: String, _ status: ExitStatus? = nil) -> BatchRefusal {
        let number = errno
        return BatchRefusal(
            number == EROFS ? .readOnly : status ?? (number == ENOENT ? .noInput : .output),
            "\(path): \(call) failed: \(overdrive_cli.sentence(forError: number))")
    }
}
