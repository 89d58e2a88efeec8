#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Parallel {
    /// A closure that mentions this is compiled anew where it is made, and what it has captured of closures that
    /// capture nothing themselves, such as `+` and `{ $0 &+ $1 }`, is merged into it: then helpers run the caller's
    /// loop. The optimiser takes this trouble for a key path that is captured, and not for a closure; of the key
    /// path nothing is left.
    @inlinable
    @inline(__always)
    static var merging: KeyPath<Int, Int> { \.self }

    /// Asks for large pages where a result has a mapping of its own, before it is written: one fault for two MiB
    /// instead of 512, which do not get faster by a second worker.
    @inlinable
    @inline(__always)
    static func preferLargePages<Element>(_ places: UnsafeMutableBufferPointer<Element>) {
        let length = places.count * MemoryLayout<Element>.stride
        // What is smaller may be a piece of malloc's heap, which others will have afterwards.
        if length >= 32 << 20 { unsafe preferLargePages(UnsafeMutableRawPointer(places.baseAddress!), length) }
    }

    @usableFromInline
    static func preferLargePages(_ start: UnsafeMutableRawPointer, _ length: Int) {
        let page = 4096
        let first = (Int(bitPattern: start) + page - 1) & -page
        // Refused where the machine has none: then it stays as it was.
        _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: first), Int(bitPattern: start) + length - first, MADV_HUGEPAGE)
    }
}
