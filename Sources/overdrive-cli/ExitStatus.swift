/// What the command's exit codes mean; `--help` prints the same list.
enum ExitStatus: Int32 {
    /// All was done.
    case success = 0
    /// Some file could not be read, or did not match its checksum.
    case someFailed = 1
    /// The arguments or the environment make no sense.
    case usage = 64
    /// A journal of something else, or damaged, or with gaps.
    case data = 65
    /// A file that the arguments name is not there.
    case noInput = 66
    /// Slurm is not there, or refused.
    case unavailable = 69
    /// The system would not give what the job needs, such as a thread.
    case system = 71
    /// The journal, or another file that is to be written, is on a read-only file system.
    case readOnly = 73
    /// The results, or the journal, could not be written.
    case output = 74
    /// Another process writes the journal.
    case locked = 75
    /// Slurm does not answer.
    case noAnswer = 76
    /// The command of `run` cannot be executed.
    case notExecutable = 126
    /// The command of `run` is not there.
    case noCommand = 127
    /// Ctrl-C, or SIGTERM.
    case interrupted = 130

    static let help = """
        EXIT CODES: 0 all done; 1 some file failed or did not match; 64 wrong usage; \
        65 the journal belongs to another job, or is damaged; 66 no such file; 71 no resources; 73 a read-only file system; \
        74 the results or the journal could not be written, as on a full disk; 75 another process writes the journal; \
        130 interrupted.
        """
}
