// Owns two hints: an optimiser hint that inlines closures, and a request for large pages. The operations of
// `Parallel` call them. Neither changes a result.

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Parallel {
    /// A key path that makes the optimiser specialise a closure which mentions it. Captured closures without
    /// captures, such as `+` and `{ $0 &+ $1 }`, are then inlined, so that helpers run the same loop as the caller.
    /// The optimiser specialises closures that capture a key path, but not closures that capture a closure. The key
    /// path itself is removed from the compiled code.
    @inlinable
    @inline(__always)
    static var merging: KeyPath<Int, Int> { \.self }

    /// Asks the kernel for large pages before a large result is written: one page fault for 2 MiB instead of 512. A
    /// second worker does not make page faults faster.
    @inlinable
    @inline(__always)
    static func preferLargePages<Element>(_ places: UnsafeMutableBufferPointer<Element>) {
        let length = places.count * MemoryLayout<Element>.stride
        // Smaller results may lie in malloc's heap, whose pages outlive the result.
        if length >= 32 << 20 { unsafe preferLargePages(UnsafeMutableRawPointer(places.baseAddress!), length) }
    }

    @usableFromInline
    static func preferLargePages(_ start: UnsafeMutableRawPointer, _ length: Int) {
        let page = 4096
        let first = (Int(bitPattern: start) + page - 1) & -page
        // Without large pages the kernel returns an error, and nothing changes.
        _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: first), Int(bitPattern: start) + length - first, MADV_HUGEPAGE)
    }
}
