internal import Glibc
internal import OverdriveBatch

/// Writes results to standard output in large pieces, and keeps the first error.
final class OrderedOutput {
    private var pending = Bytes()
    private(set) var error: Int32 = 0
    private let descriptor: Int32

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    /// - Returns: Whether no error is known so far.
    @discardableResult
    func append(_ bytes: some Collection<UInt8>) -> Bool {
        guard error == 0 else { return false }
        pending += bytes
        return pending.count < 1 << 16 || flush()
    }

    @discardableResult
    func flush() -> Bool {
        if error == 0, !pending.isEmpty {
            error = StandardStreams.write(pending[...], to: descriptor) { StopSignals.received != nil }
            pending.removeAll(keepingCapacity: true)
        }
        return error == 0
    }

    /// Reports a write error and returns its exit status. An interrupted write at the end of the run is no error.
    var status: ExitStatus? {
        guard !flush(), error != EINTR else { return nil }
        if error == EPIPE { StandardStreams.endWithoutReader() }
        StandardError.say("cannot write the results: \(sentence(forError: error))")
        return .output
    }
}
