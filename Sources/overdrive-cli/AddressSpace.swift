#if CLI
internal import CCommandSystem
internal import Glibc

/// Handles a limit of the address space (`ulimit -v`), for which thread stacks and small allocations compete.
enum AddressSpace {
    /// The approximate need of the engine's reserves and two workers' stacks, in bytes.
    private static let least = 704 << 20
    private static let heapPieces: Int32 = 12
    private static let pieceBytes: Int32 = 8 << 20

    /// Under a limit, reserves memory for small allocations before the engine starts, because the Swift runtime
    /// aborts if one fails. Without a limit, it does nothing.
    ///
    /// - Returns: A sentence if the limit is too low; else nil.
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
