#if CLI
internal import CCommandSystem
internal import Glibc

/// The limit of the address space, `ulimit -v`, under which threads compete with small allocations.
enum AddressSpace {
    /// The engine's reserves and two workers' stacks need about this much.
    private static let least = 704 << 20
    private static let heapPieces: Int32 = 12
    private static let pieceBytes: Int32 = 8 << 20

    /// Under a limit, puts memory for small allocations aside before the engine starts: the Swift runtime ends the
    /// process when one of them fails. Without a limit, does nothing.
    ///
    /// - Returns: A sentence if the limit is too low.
    static func prepare() -> String? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < rlim_t(Int64.max) else {
            return nil
        }
        guard limit.rlim_cur >= least, grow_heap(heapPieces, pieceBytes) == 0 else {
            return "cannot start: the address space is limited to \(limit.rlim_cur >> 10) KB. Raise the limit with: "
                + "ulimit -v unlimited, or to at least \(least >> 10)"
        }
        return nil
    }
}
#endif
