import Dispatch
import Foundation
import FoundationNetworking
import Overdrive
import Testing

/// The old guides' own examples, with a server on this machine in the network's place.
@Suite("The guides' examples", .timeLimit(.minutes(10)))
struct GuideTests {
    struct Image: Sendable, Equatable {
        let data: Data
        init?(data: Data) {
            guard data.starts(with: [0x89, 0x50]) else { return nil }
            self.data = data
        }
    }

    class GetLogoTask: Task<Image>, @unchecked Sendable {
        let address: String
        init(address: String) {
            self.address = address
            super.init()
        }

        override func run() {
            let logoURL = URL(string: address)!

            do {
                let logoData = try Data(contentsOf: logoURL)
                guard let image = Image(data: logoData) else { throw Flaw(number: 1) }
                finish(with: .value(image))  // Finish with image
            } catch {
                finish(with: .error(error))  // Finish with error if any
            }
        }
    }

    /// The task that Overdrive's front page promised.
    final class URLSessionTask: Task<Data>, @unchecked Sendable {
        let url: URL
        init(url: URL) {
            self.url = url
            super.init()
        }

        override func run() {
            let request = URLSession.shared.dataTask(with: url) { [self] data, response, error in
                if let error {
                    finish(with: .error(error))
                } else if (response as? HTTPURLResponse)?.statusCode != 200 {
                    finish(with: .error(Flaw(number: (response as? HTTPURLResponse)?.statusCode ?? 0)))
                } else {
                    finish(with: .value(data ?? Data()))
                }
            }
            onCancel { request.cancel() }
            request.resume()
        }
    }

    @Test("GetLogoTask")
    func getLogo() async throws {
        let server = try Server { _ in (200, Data([0x89, 0x50, 0x4e, 0x47])) }
        let log = Log<String>()
        let logoTask = GetLogoTask(address: "http://127.0.0.1:\(server.port)/logo.png")

        logoTask
            .onValue { logo in
                log.note("\(logo.data.count) bytes")
            }.onError { error in
                log.note("\(error)")
            }

        let queue = TaskQueue()
        queue.add(task: logoTask)
        _ = try await logoTask.value
        await queue.drained()
        #expect(log.all == ["4 bytes"])
    }

    @Test("URLSessionTask with retry(3): a server that fails twice")
    func urlSessionTask() async throws {
        let requests = Counter()
        let server = try Server { _ in requests.add() < 3 ? (503, Data()) : (200, Data(#"{"message": "hello"}"#.utf8)) }
        let log = Log<String>()
        let task = URLSessionTask(url: URL(string: "http://127.0.0.1:\(server.port)/")!)

        task
            .retry(3)
            .onValue { json in
                log.note(String(decoding: json, as: UTF8.self))
            }.onError { error in
                log.note("\(error)")
            }

        TaskQueue.background.add(task: task)
        _ = try await task.value
        #expect(requests.count == 3)
        #expect(eventually { log.all == [#"{"message": "hello"}"#] })
    }

    @Test("Downloading a photo and caching it, on two queues")
    func complexTasks() async throws {
        let log = Log<String>()
        let downloadPhotoTask = InlineTask { log.note("download") }
        let cachePhotoTask = InlineTask { log.note("cache") }
        cachePhotoTask.add(dependency: downloadPhotoTask)

        let downloadQueue = TaskQueue()  // Downloading can happen on any queue
        let cacheQueue = TaskQueue(qos: .background)  // All caching should be done on background queue

        downloadQueue.add(task: downloadPhotoTask)
        cacheQueue.add(task: cachePhotoTask)
        try await cachePhotoTask.value
        #expect(log.all == ["download", "cache"])
    }

    // MARK: Chop's list of issues

    struct Issue: Sendable, Equatable {
        var title: String
    }

    final class Interactor: Sendable {
        let remote: [Issue]?
        let cancels = Counter()
        init(remote: [Issue]?) { self.remote = remote }

        func fetchIssues() -> Task<[Issue]> {
            return Task {
                // Send local items through to the Task subscribers.
                $0(.update([Issue(title: "cached")]))
                let emit = $0
                // The following operation is asynchronous.
                DispatchQueue.global().async {
                    if let issues = self.remote { emit(.update(issues)) } else { emit(.error(Flaw(number: 404))) }
                    emit(.completion)
                }
                // In this closure we perform cleanup. It will be called if the task is finished or cancelled.
                return { self.cancels.add() }
            }
        }
    }

    @MainActor
    final class Screen {
        let taskGroup = TaskGroup(policy: .ignore)
        let interactor: Interactor
        var (isLoading, items, failures, completions) = (false, [[Issue]](), 0, 0)
        init(_ interactor: Interactor) { self.interactor = interactor }

        func load() -> Task<[Issue]> {
            self.isLoading = true
            return self.interactor
                .fetchIssues()
                .onUpdate(on: MainActor.self) { [weak self] in
                    self?.items.append($0)
                }
                .onFailure(on: MainActor.self) { [weak self] _ in
                    self?.failures += 1
                }
                .onCompletion(on: MainActor.self) { [weak self] in
                    self?.isLoading = false
                    self?.completions += 1
                }
                .registerIn(self.taskGroup, taskId: "itemFetch")
        }
    }

    @Test("Issues: cached first, then the server's", arguments: [true, false]) @MainActor
    func issues(succeeds: Bool) async {
        let screen = Screen(Interactor(remote: succeeds ? [Issue(title: "remote")] : nil))
        let task = screen.load()
        #expect(screen.isLoading)
        _ = await task.result()
        while screen.isLoading { await Task.yield() }
        #expect(screen.items == [[Issue(title: "cached")]] + (succeeds ? [[Issue(title: "remote")]] : []))
        #expect(screen.failures == (succeeds ? 0 : 1) && screen.completions == 1)
        #expect(screen.interactor.cancels.count == 1)
    }
}

/// An HTTP server for one test: one answer per connection.
private final class Server: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(_ answer: @escaping @Sendable (String) -> (Int, Data)) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.bindMemory(to: sockaddr.self).baseAddress
            return bind(listener, address, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, address, &size) == 0
        }
        guard isListening else { throw Flaw(number: Int(errno)) }
        descriptor = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread {
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                var request = [UInt8](repeating: 0, count: 4096)
                let count = read(connection, &request, request.count)
                let (status, body) = answer(String(decoding: request.prefix(max(0, count)), as: UTF8.self))
                let head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
                let all = Array(head.utf8) + body
                _ = write(connection, all, all.count)
                close(connection)
            }
        }.start()
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
