internal import Glibc

/// Reads a file line by line. Memory use depends only on the length of a line.
final class LineReader {
    private let descriptor: Int32
    private var buffer = Bytes()
    private var position = 0
    private var isAtEnd = false

    /// Takes ownership of an open descriptor.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Returns the next line without its line feed and a carriage return before it; nil at the end.
    func next() -> Result<Bytes?, SystemError> {
        var scanned = position
        while true {
            if let feed = buffer[scanned...].firstIndex(of: 10) {
                defer { position = feed + 1 }
                return .success(Self.trimmed(buffer[position..<feed]))
            }
            scanned = buffer.count - position
            if isAtEnd {
                defer { position = buffer.count }
                return .success(scanned == 0 ? nil : Self.trimmed(buffer[position...]))
            }
            buffer.removeFirst(position)
            position = 0
            if let error = fill() { return .failure(error) }
        }
    }

    private func fill() -> SystemError? {
        let old = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: 64 * 1024))
        var count = 0
        repeat {
            count = buffer.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + old }, $0.count - old)
            }
        } while count < 0 && errno == EINTR
        let number = errno
        buffer.removeLast(buffer.count - old - max(0, count))
        isAtEnd = count == 0
        return count < 0 ? SystemError(number: number) : nil
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> Bytes {
        Bytes(line.last == 13 ? line.dropLast() : line)
    }
}
