#if CLI
internal import ArgumentParser
internal import CCommandSystem
internal import Glibc
internal import OverdriveBatch

/// `overdrive merge`.
struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Prints the outputs of a job's shards in the order of its items.",
        discussion: """
            DIR is the --journal of checksum or run. If an item is missing, or two shards did it, the item is named and \
            nothing is printed.

            EXIT CODES: 0 complete; 1 some items had failed, and are named; 65 items are missing or double, or a \
            journal is damaged; 66 no journal; 73 read-only file system; \
            74 the results could not be written.
            """
    )

    @Argument(help: ArgumentHelp("The journal.", valueName: "dir"))
    var directory: PathArgument

    @Option(
        help: ArgumentHelp("Writes to this file, which appears only when it is complete.", valueName: "file"))
    var output: PathArgument?

    func run() throws {
        try endingWithASentence {
            try Self.merge(String(decoding: directory.bytes, as: UTF8.self), output: output?.bytes)
        }
    }

    /// Returns the name of a draft: `output`, shortened to the largest length of a name, and `mark`.
    private static func draft(for output: Bytes, mark: Bytes) -> Bytes {
        let start = output.lastIndex(of: .slash).map { $0 + 1 } ?? 0
        return output.prefix(start + max(0, Int(NAME_MAX) - mark.count)) + mark
    }

    /// Creates a file without a name in the directory of `path`; -1 if the file system does not support it.
    private static func nameless(beside path: Bytes) -> Int32 {
        let directory = path.lastIndex(of: .slash).map { Bytes(path[...$0]) } ?? Bytes(ascii: ".")
        return directory.withCString { nameless_file($0) }
    }

    private static func name(_ descriptor: Int32, _ path: Bytes) -> Bool {
        _ = path.withCString { unlink($0) }  // A leftover of an earlier process with the same number.
        return path.withCString { linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, $0, AT_SYMLINK_FOLLOW) == 0 }
    }

    /// Prints the outputs of the journals in `directory`, or writes them to the file `output`.
    static func merge(_ directory: String, output: Bytes?) throws(BatchRefusal) -> ExitStatus {
        let manifest = try Manifest.read("\(directory)/manifest")
        func name(_ index: Int) -> Bytes {
            guard let manifest, index < manifest.count else { return Bytes(ascii: "\(index)") }
            return manifest[index]
        }
        let merge: BatchMerge
        do throws(BatchError) {
            merge = try BatchMerge(directory)
            try merge.validate { String(decoding: name($0).printable, as: UTF8.self) }
        } catch {
            throw BatchRefusal(error.status, error.description)
        }
        // The draft has no name if the file system supports it, so that a killed merge leaves no file. Otherwise its
        // name is unique among all machines.
        let draft = output.map { Self.draft(for: $0, mark: Bytes(ascii: ".partial-\(Host.current.name)-\(getpid())")) }
        var isWhole = false
        defer { if let draft, !isWhole { _ = draft.withCString { unlink($0) } } }
        var descriptor = STDOUT_FILENO
        var isNameless = false
        if let draft {
            descriptor = Self.nameless(beside: draft)
            isNameless = descriptor >= 0
            if !isNameless {
                descriptor = draft.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
            }
            guard descriptor >= 0 else {
                throw .system(String(decoding: draft.printable, as: UTF8.self), "creation")
            }
        }
        let results = OrderedOutput(descriptor: descriptor)
        let isOfCommands = merge.job.hasPrefix("run ")
        let isJSON = JournalledChecksum.isJSON(merge.job)
        var failed = 0
        merge.outputs(while: { index, result in
            switch result {
            case .success(let bytes):
                guard isOfCommands, let (_, outcome) = CommandBatch.decode(bytes) else { return results.append(bytes) }
                guard results.append(outcome.output) else { return false }
                if !outcome.errors.isEmpty { StandardError.write(outcome.errors) }
            case .failure(let failure):
                failed += 1
                if isJSON {
                    var line = Bytes()
                    JSONLine.failure(name(index), failure.description, to: &line)
                    guard results.append(line) else { return false }
                }
                StandardError.say(name(index), failure.description)
            }
            return true
        })
        if let status = results.status { return status }
        if let draft, let output {
            guard fsync(descriptor) == 0, !isNameless || Self.name(descriptor, draft), close(descriptor) == 0,
                draft.withCString({ from in output.withCString { rename(from, $0) } }) == 0
            else { throw .system(String(decoding: output.printable, as: UTF8.self), "writing") }
            isWhole = true
            Folder.synchronise(above: output)
        }
        if failed > 0 {
            StandardError.say("\(Quantity.count(failed)) of \(Quantity.count(merge.count)) items failed")
        }
        return failed == 0 ? .success : .someFailed
    }
}
#endif
