// Owns the errors of jobs, journals and shards. Runs throw them before any item starts, or at the end.

internal import Glibc

/// The error of a batch that could not run or continue. Outputs that were already returned are safe.
public enum BatchError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another process is writing the journal.
    case locked(journal: String, owner: String)
    /// The journal belongs to another job, version, list of items or shard.
    case foreign(journal: String, difference: String)
    /// The journal contains bytes that no writer wrote.
    case corrupt(file: String, byte: Int, remedy: String)
    /// Another process took over the journal, because this process seemed dead.
    case fenced(journal: String)
    /// A system call on a file failed, for example on a full disk.
    case system(path: String, call: String, number: Int32)
    /// The shard is not valid.
    case shard(String)
    /// The journals are incomplete: items are missing or occur twice. The text names them.
    case incomplete(String)
    /// The journal does not exist.
    case noJournal(String)

    /// The error in one sentence, with the file and the remedy.
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
