#if CLI
internal import Crypto

/// SHA-256 as swift-crypto has it, which uses the CPU's own instructions where there are any.
struct SHA256Stream: StreamingHash {
    private var hash = SHA256()

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bufferPointer: bytes)
    }

    consuming func digest() -> Digest {
        hash.finalize().withUnsafeBytes { Digest($0) }
    }
}
#endif
