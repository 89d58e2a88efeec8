import Glibc
import OverdriveApp
import Synchronization

/// Counts what is served, and hears signals: SIGHUP reads the message of the day again, SIGUSR1 says the count.
final class Greeter: NoOpTask, @unchecked Sendable {
    private let folder: String
    private let message = Mutex("Welcome")
    private let served = Atomic(0)

    init(folder: String) {
        self.folder = folder
        super.init()
        name = "greeter"
        listen(for: AppSignal.self) { [weak self] signal in
            guard let self else { return }
            if signal == .hangup { read() }
            if signal == .user1 { say("guestbook: \(served.load(ordering: .relaxed)) requests served") }
        }
    }

    override func main() {
        read()
        setFinished()
    }

    var greeting: String {
        served.add(1, ordering: .relaxed)
        return message.withLock { $0 }
    }

    private func read() {
        guard let file = fopen(folder + "/motd.txt", "re") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return }
        let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        message.withLock { $0 = text }
        say("guestbook: the message of the day is \"\(text)\"")
    }
}
