@testable import overdrive_cli

/// Runs everything at once, on the caller.
struct CallerEngine: Engine {
    let name = "caller"
    let workerCount = 1

    func submit(_ work: @escaping @Sendable () -> Void) { work() }
    func wait() {}
}

/// A hash function that is quick to foresee: the count of the bytes and their sum.
struct SumHash: StreamingHash {
    private var count: UInt64 = 0
    private var sum: UInt64 = 0

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        count += UInt64(bytes.count)
        for byte in bytes { sum &+= UInt64(byte) }
    }

    consuming func digest() -> Digest {
        withUnsafeBytes(of: (count.bigEndian, sum.bigEndian, UInt64(0), UInt64(0))) { Digest($0) }
    }
}
