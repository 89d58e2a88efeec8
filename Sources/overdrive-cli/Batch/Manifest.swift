// Owns the list of a job's items, in a file beside its journal. Each shard and each later run reads the same list. It
// never changes once written.

internal import Glibc
internal import OverdriveBatch

/// The items of a job as they were when it began. Files that are created or removed later do not change it.
///
/// Each item is its size in digits, a tab, its name and a zero byte; `tr '\0' '\n' <manifest` displays them.
struct Manifest: RandomAccessCollection, Sendable {
    /// The file's contents.
    private let text: Bytes
    /// The offset of each name in the text. A zero byte ends the name.
    private let starts: [Int]

    var startIndex: Int { 0 }
    var endIndex: Int { starts.count }

    subscript(index: Int) -> Bytes {
        let end = text[starts[index]...].firstIndex(of: 0) ?? text.count
        return Bytes(text[starts[index]..<end])
    }

    /// The cost of each item: its size, plus the cost of opening a file.
    var weights: [Int] {
        var place = 0
        return indices.map { index in
            var size = 0
            while place < starts[index] - 1 {
                size = size * 10 + Int(text[place] & 15)
                place += 1
            }
            place = starts[index] + self[index].count + 1
            return size + Int(ProgressBar.costOfFile)
        }
    }

    /// Collects items. A name must not contain a zero byte.
    struct Builder {
        fileprivate var text = Bytes()

        mutating func append(_ name: some Collection<UInt8>, size: Int = 0) {
            text += Bytes(ascii: "\(size)\t")
            text += name
            text.append(0)
        }
    }

    /// Creates a list in memory, which takes about 10 bytes for each item besides its name.
    init(_ builder: Builder) {
        var starts: [Int] = []
        var place = 0
        while let tab = builder.text[place...].firstIndex(of: 9), let end = builder.text[tab...].firstIndex(of: 0) {
            starts.append(tab + 1)
            place = end + 1
        }
        (text, self.starts) = (builder.text, starts)
    }

    /// The list as a builder, for writing a file.
    var builder: Builder {
        var builder = Builder()
        builder.text = text
        return builder
    }

    /// Returns the manifest in `directory`. If there is none, stores and returns the result of `make`.
    ///
    /// - Throws: A `BatchRefusal` with a sentence.
    static func frozen(in directory: String, make: () -> Builder) throws(BatchRefusal) -> Manifest {
        let path = "\(directory)/manifest"
        if let kept = try read(path) { return kept }
        try keep(make().text, at: path, in: directory)
        guard let kept = try read(path) else { throw .system(path, "reading") }
        return kept
    }

    private static func keep(_ text: Bytes, at path: String, in directory: String) throws(BatchRefusal) {
        guard Folder.make(directory) else { throw .system(directory, "creation", .output) }
        // The file is written under another name first, so that no process reads half a list. If two processes write,
        // the first one wins.
        let draft = "\(path).\(getpid())"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw .system(draft, "creation") }
        let error = StandardStreams.write(text[...], to: file) { false }
        let isSafe = error == 0 && fsync(file) == 0
        if error != 0 { errno = error }
        guard isSafe, close(file) == 0 else {
            defer { unlink(draft) }
            throw .system(draft, "writing")
        }
        defer { unlink(draft) }
        guard link(draft, path) == 0 || errno == EEXIST else { throw .system(path, "creation") }
        Folder.synchronise(above: Bytes(ascii: path))
    }

    /// Reads the manifest at `path`; nil if there is none.
    static func read(_ path: String) throws(BatchRefusal) -> Manifest? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(path, "opening")
        }
        defer { close(file) }
        guard let text = readAll(file) else { throw .system(path, "reading") }
        guard let manifest = Manifest(text) else {
            throw BatchRefusal(
                .data, "\(path): damaged, so nothing was done: use another journal")
        }
        return manifest
    }

    init?(_ text: Bytes) {
        var starts: [Int] = []
        var place = 0
        while place < text.count {
            // A size has at most 18 digits; a longer one is invalid and would overflow.
            guard let tab = text[place...].firstIndex(of: 9), let end = text[tab...].firstIndex(of: 0), tab > place,
                tab - place <= 18, text[place..<tab].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            starts.append(tab + 1)
            place = end + 1
        }
        (self.text, self.starts) = (text, starts)
    }

    /// Reads a descriptor to its end; nil after an error.
    static func readAll(_ descriptor: Int32) -> Bytes? {
        var all = Bytes()
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { all.reserveCapacity(Int(status.st_size)) }
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

/// A message that ends the command, and its exit status.
struct BatchRefusal: Error, CustomStringConvertible {
    var status: ExitStatus
    var sentence: String

    var description: String { sentence }

    init(_ status: ExitStatus, _ sentence: String) {
        (self.status, self.sentence) = (status, sentence)
    }

    /// Creates the message for a failed system call, from `errno`.
    static func system(_ path: String, _ call: String, _ status: ExitStatus? = nil) -> BatchRefusal {
        let number = errno
        let isShortage = [EMFILE, ENFILE, ENOMEM].contains(number)
        return BatchRefusal(
            number == EROFS ? .readOnly : isShortage ? .system : status ?? (number == ENOENT ? .noInput : .output),
            "\(path): \(call) failed: \(overdrive_cli.sentence(forError: number))")
    }
}
