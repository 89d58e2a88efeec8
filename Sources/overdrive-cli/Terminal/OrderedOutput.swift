internal import Glibc
internal import OverdriveBatch

/// Standard output, for results that come in order: written in large pieces, and the first error kept.
final class OrderedOutput {
    private var pending = Bytes()
    private(set) var error: Int32 = 0
    private let descriptor: Int32

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    /// - Returns: Whether it could be written, as far as that is known by now.
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

    /// Says what went wrong, if anything did but that the reader took nothing any more when the run was to end.
    var status: ExitStatus? {
        guard !flush(), error != EINTR else { return nil }
        if error == EPIPE { StandardStreams.endWithoutReader() }
        StandardError.say("cannot write the results: \(sentence(forError: error))")
        return .output
    }
}
