internal import CWorkloads

/// A tree of small files in the temporary folder, which goes with the value.
public final class FileTree: @unchecked Sendable {
    // Not changed after it is made.
    private var tree: wl_files

    public init(_ count: Int) {
        tree = wl_files()
        guard wl_files_make(&tree, Int64(count)) else { Harness.fail("a tree of files cannot be made") }
    }

    deinit { wl_files_remove(&tree) }

    /// Opens, reads and sums a file up.
    public func checksum(of file: Int) -> UInt64 { wl_file_checksum(&tree, Int64(file)) }
}
