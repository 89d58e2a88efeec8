#if CLI
internal import CCrypto
internal import CXXHash

/// SHA-256 and SHA-512 from libcrypto, which uses the CPU's instructions for them.
///
/// The library's state exists for one file. The algorithm object is shared by all files.
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

/// The shared algorithm objects of libcrypto. Its configuration file is not read, so that it cannot change a
/// checksum. The library does not clean up at exit, because workers may still hash then.
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

/// XXH3 with 64 bits, from libxxhash. It is much faster, but does not protect against deliberate changes.
struct XXH3Stream: StreamingHash {
    /// The library's state for one file.
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
