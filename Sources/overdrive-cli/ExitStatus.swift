/// The exit codes of the command; `--help` prints the same list.
enum ExitStatus: Int32 {
    /// All work was done.
    case success = 0
    /// A file could not be read or did not match its checksum.
    case someFailed = 1
    /// The arguments or the environment are invalid.
    case usage = 64
    /// A journal is damaged, incomplete or belongs to another job.
    case data = 65
    /// A file in the arguments does not exist.
    case noInput = 66
    /// Slurm is not installed or rejected the request.
    case unavailable = 69
    /// The system refused a required resource, such as a thread.
    case system = 71
    /// The journal or another output file is on a read-only file system.
    case readOnly = 73
    /// The results or the journal could not be written.
    case output = 74
    /// Another process is writing the journal.
    case locked = 75
    /// Slurm does not answer.
    case noAnswer = 76
    /// The command of `run` cannot be executed.
    case notExecutable = 126
    /// The command of `run` does not exist.
    case noCommand = 127
    /// The command was interrupted by Ctrl-C or SIGTERM.
    case interrupted = 130

    static let help = """
        EXIT CODES: 0 all done; 1 some file failed or did not match; 64 wrong usage; \
        65 the journal belongs to another job, or is damaged; 66 no such file; 71 no resources; 73 a read-only file system; \
        74 the results or the journal could not be written, as on a full disk; 75 another process writes the journal; \
        130 interrupted.
        """
}
