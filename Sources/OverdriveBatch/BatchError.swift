internal import Glibc

/// Why a batch could not run, or could not go on. Nothing that was reported is lost by any of them.
public enum BatchError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A journal that another process writes.
    case locked(journal: String, owner: String)
    /// A journal of another job, version, list of items or shard.
    case foreign(journal: String, difference: String)
    /// A journal with bytes that nobody wrote so.
    case corrupt(file: String, byte: Int, remedy: String)
    /// Another process took the journal over, after this one was taken for dead.
    case fenced(journal: String)
    /// A file that could not be read or written, such as on a full disk.
    case system(path: String, call: String, number: Int32)
    /// A shard that makes no sense.
    case shard(String)
    /// Journals that do not make a whole: gaps or doubles, by their names.
    case incomplete(String)
    /// A journal that is not there.
    case noJournal(String)

    /// One sentence: what, where, and what to do.
    public var description: String {
        switch self {
        case .locked(let journal, let owner):
            "\(journal): another process (\(owner)) writes this journal: wait for its end, or name another journal"
        case .foreign(let journal, let difference):
            "\(journal): this journal belongs to another job (\(difference)): name another journal, or remove this one"
        case .corrupt(let file, let byte, let remedy):
            "\(file): damaged at byte \(byte), so nothing was done; \(remedy)"
        case .fenced(let journal):
            "\(journal): another process has taken over this journal, because this process seemed dead; the other process "
                + "does the remaining items"
        case .system(let path, let call, let number):
            unsafe "\(path): \(call) failed: \(String(cString: strerror(number)))"
        case .shard(let sentence), .incomplete(let sentence): sentence
        case .noJournal(let path):
            "\(path): no journal was found"
        }
    }
}
