/// A file or directory that could not be read, and why.
struct Failure: Error {
    var path: Bytes
    /// The `errno` of the call that failed, or `specialFile`.
    var number: Int32

    /// A file that the user named and that is neither a file to read nor a directory.
    static let specialFile: Int32 = -1

    /// A symbolic link to a directory that the user named without a slash.
    static let linkedDirectory: Int32 = -2

    var sentence: String {
        switch number {
        case Self.specialFile: "not a regular file, so not read; to sum its content: overdrive checksum - <FILE"
        case Self.linkedDirectory: "a symbolic link to a directory, not followed; to read that directory, end the path with a slash"
        default: overdrive_cli.sentence(forError: number)
        }
    }
}

/// The failures of a run: the first ones in full, the rest as a count, so that memory stays bounded.
struct FailureList {
    static let capacity = 10_000

    /// How many are kept: all of them where something follows from each.
    var capacity = FailureList.capacity
    private(set) var kept: [Failure] = []
    private(set) var count = 0

    /// Adds a failure, unless it is the process's own shortage: that one ends the command, and blames no file.
    mutating func append(_ failure: Failure) {
        if Descriptors.isShortage(failure.number) { return }
        count += 1
        if kept.count < capacity { kept.append(failure) }
    }

    /// One line for each, in the order of their paths.
    func report() {
        for failure in kept.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            StandardError.say(failure.path, failure.sentence)
        }
        if count > kept.count {
            StandardError.say("\(count - kept.count) more could not be read")
        }
    }
}
