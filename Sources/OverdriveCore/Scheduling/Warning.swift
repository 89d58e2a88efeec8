#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Says one sentence on the standard error stream, in one write.
package func warn(_ sentence: String) {
    let line = Array("overdrive: \(sentence)\n".utf8)
    // A closed stream: there is nobody to tell.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Ends the process with one sentence, which names the call and the promise that its caller broke. Unlike
/// `preconditionFailure` it says so in release builds too.
package func trap(_ sentence: String) -> Never {
    warn(sentence)
    abort()
}
