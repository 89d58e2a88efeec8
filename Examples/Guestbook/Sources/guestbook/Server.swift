import Glibc
import OverdriveApp
import Synchronization

/// HTTP on plain sockets: a thread accepts, the app's workers answer.
final class Server: AppTask, @unchecked Sendable {
    @Inject private var journal: Journal
    @Inject private var greeter: Greeter
    private let asked: UInt16
    private let listener = Atomic<Int32>(-1)
    private let bound = Atomic<UInt16>(0)
    private let answering = WaitGroup()
    private let accepting = WaitGroup()

    init(port: UInt16) {
        asked = port
        super.init()
        name = "server"
    }

    /// Where it listens, once it has booted.
    var port: UInt16 { bound.load(ordering: .acquiring) }

    override func main() {
        do {
            try listen()
            setFinished()
        } catch {
            finish(with: .failure(error))
        }
    }

    private func listen() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("make a socket") }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = asked.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 128) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else {
            let failure = failure("listen on port \(asked)")
            close(descriptor)
            throw failure
        }
        listener.store(descriptor, ordering: .releasing)
        bound.store(UInt16(bigEndian: address.sin_port), ordering: .releasing)
        // Its own queue: it waits in accept(2) all its life, which says that its worker may be stood in for.
        accepting.enter()
        TaskQueue(scheduler: AppTasks.shared?.scheduler ?? .shared).async { [self] in
            blocking { accept(on: descriptor) }
            accepting.leave()
        }
    }

    private func accept(on descriptor: Int32) {
        let requests = TaskQueue(maxConcurrentTaskCount: 64, scheduler: AppTasks.shared?.scheduler ?? .shared)
        while true {
            let connection = Glibc.accept(descriptor, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return  // shut down
            }
            requests.async(group: answering) { [self] in
                blocking { answer(connection) }
                close(connection)
            }
        }
    }

    private func answer(_ connection: Int32) {
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        guard let (method, body) = request(from: connection) else { return }
        let (status, text): (String, String)
        switch method {
        case "GET":
            (status, text) = ("200 OK", ([greeter.greeting] + journal.entries).joined(separator: "\n") + "\n")
        case "POST":
            do {
                try journal.add(body)
                (status, text) = ("201 Created", "thank you\n")
            } catch {
                (status, text) = ("503 Service Unavailable", "\(error)\n")
            }
        default:
            (status, text) = ("405 Method Not Allowed", "GET or POST\n")
        }
        let answer = Array("HTTP/1.1 \(status)\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)".utf8)
        _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
    }

    /// The method and the body; nil for who says nothing in time, or too much.
    private func request(from connection: Int32) -> (method: String, body: String)? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 1 << 16 {
            let text = String(decoding: bytes, as: UTF8.self)
            if let (head, body) = Server.parts(of: text) {
                let length = head.lowercased().split(separator: "\r\n")
                    .first { $0.hasPrefix("content-length:") }.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
                if body.utf8.count >= length { return (String(head.prefix { $0 != " " }), String(body)) }
            }
            let count = recv(connection, &part, part.count, 0)
            guard count > 0 else { return nil }
            bytes += part.prefix(count)
        }
        return nil
    }

    private static func parts(of text: String) -> (head: String, body: String)? {
        let scalars = Array(text.utf8)
        guard let end = scalars.indices.dropLast(3).first(where: { Array(scalars[$0..<$0 + 4]) == [13, 10, 13, 10] }) else {
            return nil
        }
        return (String(decoding: scalars[..<end], as: UTF8.self), String(decoding: scalars[(end + 4)...], as: UTF8.self))
    }

    /// No more connections; those that were accepted are answered.
    override func stop() async throws {
        let descriptor = listener.exchange(-1, ordering: .acquiringAndReleasing)
        shutdown(descriptor, Int32(SHUT_RDWR))
        await accepting.wait()
        close(descriptor)
        await answering.wait()
        say("guestbook: the server has answered everybody")
    }

    private func failure(_ what: String) -> JournalError {
        JournalError(description: "could not \(what): \(String(cString: strerror(errno)))")
    }
}
