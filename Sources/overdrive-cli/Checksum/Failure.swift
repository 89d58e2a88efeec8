/// A file or directory that could not be read, and why.
struct Failure: Error {
    var path: Bytes
    /// The `errno` of the call that failed.
    var number: Int32
}

/// The failures of a run: the first ones in full, the rest as a count, so that memory stays bounded.
struct FailureList {
    static let capacity = 10_000

    private(set) var kept: [Failure] = []
    private(set) var count = 0

    mutating func append(_ failure: Failure) {
        count += 1
        if kept.count < Self.capacity { kept.append(failure) }
    }

    /// One line for each, in the order of their paths.
    func report() {
        for failure in kept.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            StandardError.say(failure.path, sentence(forError: failure.number))
        }
        if count > kept.count {
            StandardError.say("\(count - kept.count) more could not be read")
        }
    }
}
