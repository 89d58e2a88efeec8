#if CLI
internal import CXXHash
internal import Crypto

/// SHA-256 as swift-crypto has it, which uses the CPU's own instructions where there are any.
struct SHA256Stream: StreamingHash {
    private var hash = SHA256()

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bufferPointer: bytes)
    }

    consuming func digest() -> Digest {
        hash.finalize().withUnsafeBytes { Digest($0, .sha256) }
    }
}

/// SHA-512, likewise.
struct SHA512Stream: StreamingHash {
    private var hash = SHA512()

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bufferPointer: bytes)
    }

    consuming func digest() -> Digest {
        hash.finalize().withUnsafeBytes { Digest($0, .sha512) }
    }
}

/// XXH3 with 64 bits, of libxxhash: many times as fast, and no proof against who means to deceive.
struct XXH3Stream: StreamingHash {
    /// The library's state, for the time of one file.
    private final class State {
        let place: OpaquePointer

        init() {
            guard let place = XXH3_createState() else { fatalError("overdrive: out of memory") }
            self.place = place
            XXH3_64bits_reset(place)
        }

        deinit { XXH3_freeState(place) }
    }

    private let state = State()

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        XXH3_64bits_update(state.place, bytes.baseAddress, bytes.count)
    }

    consuming func digest() -> Digest {
        withUnsafeBytes(of: XXH3_64bits_digest(state.place).bigEndian) { Digest($0, .xxh3) }
    }
}

extension Algorithm {
    var hash: any StreamingHash.Type {
        switch self {
        case .sha256: SHA256Stream.self
        case .sha512: SHA512Stream.self
        case .xxh3: XXH3Stream.self
        }
    }
}
#endif
