#if CLI
internal import CCrypto
internal import CXXHash

/// SHA-256 and SHA-512 as libcrypto has them, which uses the CPU's own instructions where there are any.
///
/// The state is the library's, for the time of one file; what the digest is comes from where all files take it.
private final class CryptoState {
    private let place: OpaquePointer

    init(_ kind: OpaquePointer?) {
        guard let kind, let place = EVP_MD_CTX_new(), EVP_DigestInit_ex2(place, kind, nil) == 1 else {
            fatalError("overdrive: libcrypto does not support this hash, or is out of memory")
        }
        self.place = place
    }

    deinit { EVP_MD_CTX_free(place) }

    func absorb(_ bytes: UnsafeRawBufferPointer) {
        let absorbed = EVP_DigestUpdate(place, bytes.baseAddress, bytes.count)
        precondition(absorbed == 1, "libcrypto cannot hash")
    }

    func digest(_ algorithm: Algorithm) -> Digest {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(EVP_MAX_MD_SIZE)) { bytes in
            var count: UInt32 = 0
            let ended = EVP_DigestFinal_ex(place, bytes.baseAddress, &count)
            precondition(ended == 1, "libcrypto cannot hash")
            return Digest(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<Int(count)]), algorithm)
        }
    }
}

/// What libcrypto is asked for once. Its configuration file is not read: nobody should change what a checksum is. Nor does
/// it clean up at the process's exit, beside which files that are stuck may still be hashed.
private enum CryptoKind {
    nonisolated(unsafe) static let sha256 = fetched("SHA2-256")
    nonisolated(unsafe) static let sha512 = fetched("SHA2-512")
    nonisolated(unsafe) static let md5 = fetched("MD5")
    nonisolated(unsafe) static let sha1 = fetched("SHA1")

    private static func fetched(_ name: String) -> OpaquePointer? {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT), nil)
        return EVP_MD_fetch(nil, name, nil)
    }
}

struct SHA256Stream: StreamingHash {
    private let state = CryptoState(CryptoKind.sha256)

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) { state.absorb(bytes) }
    consuming func digest() -> Digest { state.digest(.sha256) }
}

struct SHA512Stream: StreamingHash {
    private let state = CryptoState(CryptoKind.sha512)

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) { state.absorb(bytes) }
    consuming func digest() -> Digest { state.digest(.sha512) }
}

struct MD5Stream: StreamingHash {
    private let state = CryptoState(CryptoKind.md5)

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) { state.absorb(bytes) }
    consuming func digest() -> Digest { state.digest(.md5) }
}

struct SHA1Stream: StreamingHash {
    private let state = CryptoState(CryptoKind.sha1)

    mutating func absorb(_ bytes: UnsafeRawBufferPointer) { state.absorb(bytes) }
    consuming func digest() -> Digest { state.digest(.sha1) }
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
        case .md5: MD5Stream.self
        case .sha1: SHA1Stream.self
        }
    }
}
#endif
