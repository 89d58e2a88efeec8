import Glibc
import OverdriveApp
import Synchronization

struct JournalError: Error, CustomStringConvertible {
    let description: String
}

/// The entries, a line each, in a file that is appended to.
final class Journal: Sendable {
    private struct State {
        var file: UnsafeMutablePointer<FILE>?
        var entries: [String] = []
    }

    private let folder: String
    // The file is used under the lock only.
    private let state = Mutex(SendableState())
    private struct SendableState: @unchecked Sendable { var state = State() }

    init(folder: String) { self.folder = folder }

    private var path: String { folder + "/entries.txt" }

    func open() throws {
        mkdir(folder, 0o777)
        try state.withLock { held in
            guard let file = fopen(path, "a+e") else { throw failure("open") }
            rewind(file)
            var line: UnsafeMutablePointer<CChar>?
            var room = 0
            defer { free(line) }
            while getline(&line, &room, file) > 0, let line {
                held.state.entries.append(String(cString: line).split(separator: "\n").first.map(String.init) ?? "")
            }
            held.state.file = file
        }
    }

    /// Old entries had no number: this gives them one. It takes its time, as migrations do.
    func migrate(taking seconds: Double) async throws {
        try await AsyncTask<Never, Never>.sleep(for: .seconds(seconds))
        state.withLock { held in
            held.state.entries = held.state.entries.enumerated().map { index, entry in
                entry.contains(": ") ? entry : "\(index + 1): \(entry)"
            }
        }
    }

    var entries: [String] { state.withLock { $0.state.entries } }

    func add(_ text: String) throws {
        let line = text.split(separator: "\n").joined(separator: " ")
        try state.withLock { held in
            guard let file = held.state.file else { throw JournalError(description: "the journal is closed") }
            let entry = "\(held.state.entries.count + 1): \(line)"
            guard fputs(entry + "\n", file) >= 0 else { throw failure("append to") }
            held.state.entries.append(entry)
        }
    }

    /// Writes out what waits in memory.
    func close() throws {
        try state.withLock { held in
            guard let file = held.state.file else { return }
            held.state.file = nil
            guard fclose(file) == 0 else { throw failure("write out") }
            say("guestbook: the journal has \(held.state.entries.count) entries")
        }
    }

    private func failure(_ what: String) -> JournalError {
        JournalError(description: "could not \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
