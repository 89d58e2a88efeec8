internal import Glibc

/// The counts of Peers/counting.c, where it is preloaded.
enum Counting {
    private typealias Function = @convention(c) (UnsafeMutablePointer<UInt64>) -> Void

    private static let function: Function? = dlsym(nil, "counting_read").map { unsafeBitCast($0, to: Function.self) }

    /// Nothing when it is not preloaded.
    static func read() -> [(name: String, value: Int)] {
        guard let function else { return [] }
        var counts: [UInt64] = [0, 0, 0]
        function(&counts)
        return [("allocations", Int(counts[0])), ("futexes", Int(counts[1])), ("syscalls", Int(counts[2]))]
    }
}
