/// A file or directory that could not be read, with the reason.
struct Failure: Error {
    var path: Bytes
    /// The `errno` of the failed call, or one of the values below.
    var number: Int32

    /// The user named a file that is neither regular nor a directory.
    static let specialFile: Int32 = -1

    /// The user named a symbolic link to a directory without a trailing slash.
    static let linkedDirectory: Int32 = -2

    var sentence: String {
        switch number {
        case Self.specialFile: "not a regular file, so not read; to sum its content: overdrive checksum - <FILE"
        case Self.linkedDirectory: "a symbolic link to a directory, not followed; to read that directory, end the path with a slash"
        default: overdrive_cli.sentence(forError: number)
        }
    }
}

/// The failures of a run. Only the first ones are kept in full, so that memory stays bounded.
struct FailureList {
    static let capacity = 10_000

    /// The number of failures to keep.
    var capacity = FailureList.capacity
    private(set) var kept: [Failure] = []
    private(set) var count = 0

    /// Adds a failure, unless it is a shortage of this process. A shortage ends the command and is no failure of the
    /// file.
    mutating func append(_ failure: Failure) {
        if Descriptors.isShortage(failure.number) { return }
        count += 1
        if kept.count < capacity { kept.append(failure) }
    }

    /// Prints a line for each failure, sorted by path.
    func report() {
        for failure in kept.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            StandardError.say(failure.path, failure.sentence)
        }
        if count > kept.count {
            StandardError.say("\(count - kept.count) more could not be read")
        }
    }
}
