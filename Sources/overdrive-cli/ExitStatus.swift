/// What the command's exit codes mean; `--help` prints the same list.
enum ExitStatus: Int32 {
    /// All was done.
    case success = 0
    /// Some file could not be read, or did not match its checksum.
    case someFailed = 1
    /// The arguments or the environment make no sense.
    case usage = 64
    /// The system would not give what the job needs, such as a thread.
    case system = 71
    /// The results could not be written.
    case output = 74
    /// Ctrl-C.
    case interrupted = 130

    static let help = """
        EXIT CODES: 0 all done; 1 some file failed or did not match; 64 wrong usage; \
        71 no resources; 74 the results could not be written; 130 interrupted.
        """
}
