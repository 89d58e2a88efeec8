/// The declarations that the listings of the documentation comments use and do not show.
enum ListingStubs {
    /// The beginning of each module's file: imports, types, values and functions.
    static let files = [
        "OverdriveCore": """
            import OverdriveCore

            private struct IOError: Error {}
            private struct DecodingProblem: Error {}
            private struct File: Sendable {
                func date() throws(IOError) -> Int { 0 }
            }
            private struct Frame: Sendable {}
            private struct Image: Sendable { func makeThumbnail() {} }
            private struct Vector: Sendable { func norm() -> Double { 1 } }
            private struct Node: Sendable { var children: [Node] = [] }
            private final class Tree: Sendable {
                let (left, right): (Tree?, Tree?) = (nil, nil)
                let value = 1
            }
            private struct Board: Sendable {
                func isFree(_ column: Int) -> Bool { true }
                func with(_ column: Int) -> Board { self }
                func after(_ move: Int) -> Board { self }
            }
            private struct Person: Sendable { var age = 1, score = 1 }
            private final class Server: Sendable { func get(_ url: String) async throws -> String { "" } }
            private struct Request: Sendable {
                enum Answer { case tooManyRequests }
                var host = ""
                func answer(_ answer: Answer) {}
            }
            private struct Tenant: Sendable { var id: Int }
            private struct Line: Sendable {}
            private struct Tile: Sendable {}
            private enum Beat { case alive }
            private final class Button: Sendable { func onClick(_ body: @escaping @Sendable () -> Void) {} }
            private final class TextField: Sendable {
                var text: String { get { "" } set {} }
            }
            private final class Log: Sendable { func warning(_ text: String) {} }
            private final class Socket: Sendable { func close() {} }
            private struct Index: Sendable { func matches(for text: String) -> [String] { [] } }

            private let (token, progress, group) = (CancellationToken(), Parallel.Progress(), WaitGroup())
            private let queue = TaskQueue()
            private let (cache, journal, counters) = (TaskQueue.concurrent(label: ""), TaskQueue.serial(label: ""), TaskQueue.serial(label: ""))
            private let (readers, renderers, solvers, scheduler) = (Scheduler.shared, Scheduler.shared, Scheduler.shared, Scheduler.shared)
            private let (files, lines, words, urls, hugeFile): ([String], [String], [String], [String], [String]) = ([], [], [], [], [])
            private let (images, frames, vectors): ([Image], [Frame], [Vector]) = ([], [], [])
            private let (samples, prices, scores, vector) = ([1.0], [1.0], [1.0], [1.0])
            private let (numbers, entries, chunks, points): ([Int], [String], [[Int]], [Int]) = ([], [], [], [])
            private let (requests, players, tiles): ([Request], [Person], [Tile]) = ([], [], [])
            private let (count, n, rows, columns, width, moves) = (8, 8, 8, 8, 8, 8)
            private let (path, text, first, second) = ("", "", "", "")
            private let (meshes, textures, sounds) = ("", "", "")
            private let (bytes, gain, total, x) = ([UInt8](), [1.0], 1, 1)
            private let (node, board, image, request, item) = (Node(), Board(), Image(), Request(), WorkItem {})
            private let (stopButton, label, logger, index) = (Button(), TextField(), Log(), Index())
            private let (client, url, messages) = (Server(), "", [""])
            private let tenant = TaskQueue.SpecificKey<Tenant>()
            private let connections = CountingSemaphore(value: 4)
            private let slots = CountingSemaphore(value: 1)
            private let limit = RateLimiter(1, per: .seconds(1))
            private let socket = Socket()
            private let sums = WorkerLocal { 0 }

            private func append(_ line: String) {}
            private func blur(_ row: Int, using line: inout [Float]) {}
            private func buildTree(_ points: [Int]) -> Int { 1 }
            private func busy() {}
            private func cell(_ row: Int, _ column: Int) -> Double { 1 }
            private func check(_ file: String) throws(IOError) {}
            private func checksum(of bytes: [UInt8]) -> Int { 1 }
            private func convert(_ file: String) {}
            private func decode(_ number: Int) throws -> Frame { Frame() }
            private func decode(_ file: String) throws(DecodingProblem) -> Frame { Frame() }
            private func fetch(_ url: String) {}
            private func fetchAll() async {}
            private func giveUp() {}
            private func receive(from socket: Socket) throws {}
            private func handle(_ request: Request) {}
            private func index(_ file: String) {}
            private func insertionSort(_ span: inout MutableSpan<Int>) {}
            private func isPrime(_ number: Int) -> Bool { true }
            private func isWhole(_ file: String) throws -> Bool { true }
            private func left() -> Int { 1 }
            private func load(_ file: String) throws -> Int { 1 }
            private func log(_ something: Any?) {}
            private func merge(_ span: inout MutableSpan<Int>, _ middle: Int) {}
            private func parse(_ text: String) throws -> Int { 1 }
            private func place(_ board: Board) {}
            private func plot(_ range: ClosedRange<Double>) {}
            private func process<T>(_ something: T) {}
            private func read(_ file: String) {}
            private func readWholeFile(_ path: String) -> String { "" }
            private func redraw() {}
            private func remind() {}
            private func render(_ something: Frame) {}
            private func render(_ something: Int) {}
            private func render(_ something: Tile) {}
            private func renderAll() {}
            private func resize(_ image: Image) -> Image { image }
            private func right() -> Int { 1 }
            private func search(_ board: Board) -> Int { 1 }
            private func send(_ beat: Beat) {}
            private func send(_ message: String) async throws {}
            private func show(_ something: Any) {}
            private func sizeOnDisk(_ entry: String) throws -> Int { 1 }
            private func sum(of part: ArraySlice<Double>) -> Double { 1 }
            private func transform(_ part: ArraySlice<Double>) {}
            private func visit(_ node: Node) {}
            """,
        "OverdriveTerminal": """
            import OverdriveCore
            import OverdriveTerminal

            private let (queue, files): (TaskQueue, [String]) = (TaskQueue(), [])
            private func convert(_ file: String) {}
            private let progress = TaskQueue().progress!
            """,
        "OverdriveTesting": """
            import OverdriveCore
            import OverdriveTesting
            """,
        "OverdriveGlobal": """
            import OverdriveGlobal

            private func serve() async {}
            """,
        "OverdriveBatch": """
            import OverdriveBatch

            private let (paths, addresses): ([String], [String]) = ([], [])
            private func append(_ page: [UInt8]) throws {}
            private func fetch(_ address: String) async throws -> [UInt8] { [] }
            private func thumbnail(of path: String) throws -> [UInt8] { [] }
            private func save(_ something: Any) {}
            """,
        "Overdrive": """
            import Dispatch
            import Foundation
            import Overdrive

            private struct Issue: Sendable {}
            private struct Image: Sendable { init(data: Data) throws {} }
            private struct Page: Sendable {}
            private struct Text: Sendable { var count = 1 }
            private struct NetworkError: Error {}
            private struct Offline: Error {}
            private struct Unreachable: Error { var host: String }
            private final class GetLogoTask: Task<Image>, @unchecked Sendable {}
            private final class DownloadPhotoTask: Task<Image>, @unchecked Sendable {}
            private final class RenderTask: Task<Void>, @unchecked Sendable { convenience init(_ page: Page) { self.init() } }
            private struct IsOnline: TaskCondition {
                func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
            }
            private struct Stopwatch: TaskObserver {}
            private final class Request: Sendable { func cancel() {} }
            private final class Client: Sendable {
                func issues(_ body: @escaping @Sendable (Result<[Issue], any Error>) -> Void) -> Request { Request() }
                func get(_ url: URL) async -> Data { Data() }
            }
            private final class Monitor: Sendable { func ask(_ answer: @escaping @Sendable (Bool) -> Void) {} }
            private final class Store: Sendable {
                let issues = [Issue]()
                func store(_ image: Image) {}
            }
            private final class Device: Sendable { func stop() {}; func close() {} }
            private final class Legacy: Sendable {
                let workQueue = DispatchQueue(label: "")
                func save() {}
            }
            private final class Log: Sendable { func debug(_ text: String) {} }

            private let (queue, launch) = (TaskQueue(), Task<Void>())
            nonisolated(unsafe) private let graph = TaskGraph()
            private let (client, monitor, database, cache, legacy, logger) = (Client(), Monitor(), Store(), Store(), Legacy(), Log())
            private let (spinner, connection) = (Device(), Device())
            private let (url, logo, urls) = (URL(fileURLWithPath: "/"), URL(fileURLWithPath: "/"), [URL]())
            private let (download, photo, task) = (Task<Data>(), GetLogoTask(), GetLogoTask())
            private let (cachePhoto, downloadPhoto, login) = (Task<Void>(), DownloadPhotoTask(), Task<String>())
            private let (layout, photos) = (Task<Void>(), Task<Void>())
            private let (issues, sensor) = (Task<[Issue]>(), Task<Double>())
            private let (preparations, pages, page, numbers): ([AnyTask], [Page], Page, [Int]) = ([], [], Page(), [])
            private let (address, makeFolder, writeFile) = (graph.node("") { url }, graph.node("") {}, graph.node("") {})
            private let (main, library, objects) = (graph.node("") { 1 }, graph.node("") { 1 }, graph.node("") { 1 })
            private let number = graph.input("", of: Int.self)
            private let frozen = try! graph.freeze()
            private let (source, placeholder) = ("", Data())

            private func add(_ a: Int, _ b: Int) throws -> Int { a + b }
            private func check(_ tree: Text) throws -> Int { 1 }
            private func check(_ path: String) throws {}
            private func compileAndArchive(in graph: TaskGraph) -> TaskGraph.Node<Int> { graph.node("") { 1 } }
            private func decode(_ data: Data) throws -> [Int] { [] }
            private func fetch(_ url: URL) async throws -> Data { Data() }
            private func fetch(_ url: URL) -> Task<Data> { Task() }
            private func fetchIssues() -> Task<[Issue]> { Task() }
            private func fetchPage(_ session: String) -> Task<Page> { Task() }
            private func fileSize(_ path: String) throws -> Int { 1 }
            private func generate(_ tree: Text, _ types: Int) -> Data { Data() }
            private func loadLogo() throws -> Image { try Image(data: Data()) }
            private func loadSounds() {}
            private func loadTextures() {}
            private func parse(_ source: String) throws -> Text { Text() }
            private func ping(_ host: String) async -> Bool { true }
            private func render() throws -> Page { Page() }
            private func render(_ page: Page) throws -> Image { try Image(data: Data()) }
            private func report(_ error: any Error) {}
            private func show(_ something: Any) {}
            private func write(_ code: Data) {}
            """,
        "OverdriveDispatch": """
            import Foundation
            import OverdriveCore
            import OverdriveDispatch

            private typealias DispatchQueue = OverdriveDispatch.DispatchQueue
            private typealias DispatchGroup = OverdriveDispatch.DispatchGroup
            private typealias DispatchSemaphore = OverdriveDispatch.DispatchSemaphore
            private typealias DispatchWorkItem = OverdriveDispatch.DispatchWorkItem
            private typealias DispatchSource = OverdriveDispatch.DispatchSource
            private typealias DispatchIO = OverdriveDispatch.DispatchIO
            private typealias Operation = OverdriveDispatch.Operation
            private typealias BlockOperation = OverdriveDispatch.BlockOperation
            private typealias OperationQueue = OverdriveDispatch.OperationQueue

            private struct Index: Sendable { func matches(for text: String) -> [String] { [] } }
            private final class Connection: Sendable { let workQueue = queue.underlying }
            private final class NIOThreadPool: Sendable {
                static let singleton = NIOThreadPool()
                func shutdownGracefully(queue: Any, _ done: @escaping @Sendable ((any Error)?) -> Void) {}
            }

            private let (queue, journal, group) = (DispatchQueue(label: ""), DispatchQueue(label: ""), DispatchGroup())
            private let (files, parts, text): ([String], [Operation], String) = ([], [], "")
            nonisolated(unsafe) private let line = DispatchData.empty
            private let (index, connection, descriptor) = (Index(), Connection(), Int32(1))

            private func append(_ line: DispatchData) {}
            private func convert(_ file: String) {}
            private func done() {}
            private func fetch() {}
            private func flush() {}
            private func load(_ done: @escaping @Sendable () -> Void) {}
            private func makeLarge() {}
            private func makeSmall() {}
            private func show(_ something: Any) {}
            """,
        "OverdriveApp": """
            import Foundation
            import OverdriveApp

            private struct Reload: AppEvent { var file: String }
            private struct Letter: Sendable {}
            private protocol Mailer: Sendable { func send(_ letter: Letter) }
            private struct SMTPMailer: Mailer { func send(_ letter: Letter) {} }
            private protocol Printer: Sendable {}
            private struct ConsolePrinter: Printer {}
            private struct Database: Sendable { init(path: String) {}; init(_ path: String) {} }
            private struct StorageServices: ServiceProvider {}
            private struct WebServices: ServiceProvider {}
            private final class OpenDatabaseTask: AppTask, @unchecked Sendable { let path = "" }
            private final class PushTask: AppTask, @unchecked Sendable { func didRegister(_ token: Data) {} }
            private final class Pool: Sendable {
                func open(_ done: @escaping @Sendable ((any Error)?) -> Void) {}
                func close() async throws {}
            }
            private final class Caches: Sendable {
                func warm() async throws {}
                func flush() async {}
            }
            private struct Step: Sendable { func apply() async throws {} }
            private final class Listener: Sendable { func onClose(_ body: @escaping @Sendable (any Error) -> Void) {} }

            private let (pool, cache, steps, listener): (Pool, Caches, [Step], Listener) = (Pool(), Caches(), [], Listener())
            private let (letter, path, token, task) = (Letter(), "", Data(), AppTask("") {})
            private func reload() {}
            private func listen<Event: AppEvent>(for type: Event.Type, _ body: @escaping @Sendable (Event) -> Void) { task.listen(for: type, body) }
            """,
    ]

    /// The names that one file's listings, or the listing with this first line, use in another sense. `LISTING` stands for the code.
    static let locals = [
        "Parallel+Elements.swift": """
            let samples = [1]
            """,
        "Parallel+Extremes.swift": """
            let (files, people) = ([File()], [Person()])
            """,
        "Parallel+Spans.swift": """
            let (samples, prices) = ([1.0], [1.0])
            """,
        "Parallel+Sort.swift": """
            var (samples, people) = ([1.0], [Person()])
            """,
        "Parallel+StableSort.swift": """
            var (lines, people) = ([""], [Person()])
            """,
        "Parallel+Writing.swift": """
            var (samples, matrix) = ([1.0], [1.0])
            """,
        "Parallel+Run.swift": """
            var samples = [1.0]
            """,
        "Parallel+Scope.swift:scope.fork { index(file) }": """
            for file in files { Parallel.scope { scope in
            LISTING
            } }
            """,
        "Parallel+Scope.swift:scope.fork { () throws(IOError) in try check(file) }": """
            for file in files { try Parallel().scope(throwing: IOError.self) { scope throws(IOError) in
            LISTING
            } }
            """,
        "TaskQueue+Flags.swift": """
            let (key, value) = ("", 1)
            nonisolated(unsafe) var entries = [String: Int]()
            """,
        "TaskQueue+ConcurrentPerform.swift": """
            let rows = [Frame]()
            """,
        "TaskQueue+Specifics.swift": """
            var (lines, entries) = ([Line](), [String: Int]())
            """,
        "TaskQueue+Timer.swift": """
            let timer = queue.every(.seconds(1)) {}
            """,
        "WaitGroup.swift": """
            let results = [1]
            """,
        "BatchJob.swift:try job.run(options) { index, result in": """
            let job = BatchJob(name: "", version: "", items: paths) { _, _ in [] }
            let options = BatchOptions()
            """,
        "BatchReport.swift": """
            let report = try BatchJob(name: "", version: "", items: paths) { _, _ in [] }.run(BatchOptions()) { _, _ in }
            """,
        "Emitter.swift:let cached = Task(value: image)": """
            let image = try Image(data: Data())
            """,
        "AnyTask+Dependencies.swift:let photos = get(dependency: DownloadPhotoTask.self).compactMap { $0.result?.value }": """
            final class ShowPhotosTask: Task<Void>, @unchecked Sendable {
            override func run() {
            LISTING
            } }
            """,
        "TaskQueue+Dispatch.swift": """
            let group = WaitGroup()
            """,
        "TaskGraph+Spawning.swift": "let paths = [\"\"]",
        "TaskGraph+Spawning.swift:context.spawn(\"main.c\") { try check(\"main.c\") }": """
            graph.node(after: graph.context) { context in
            LISTING
            }
            """,
        "TaskGraph+Spawning.swift:context.spawn(\"page\") { _ = try await fetch(url) }": """
            graph.node(after: graph.context) { context in
            LISTING
            }
            """,
        "RunReport.swift": "let report = RunRecorder().report",
        "RunReport+Text.swift": "let report = RunRecorder().report",
        "TaskGraph+Frozen.swift:let results = try build.run()": """
            let size = graph.node("") { 42 }
            let build = try graph.freeze()
            """,
        "TaskGraph+Frozen.swift:let results = try await build.run()": """
            let build = try graph.freeze()
            """,
        "TaskGraph+Drawing.swift": """
            let build = try graph.freeze()
            """,
        "Pipeline.swift": """
            struct Stream: Sendable {
                func add(_ value: String) {}
                func write(_ record: String) throws {}
                func send(_ record: String) async throws {}
            }
            let (pipeline, total, file, connection) = (Pipeline(of: String.self), Stream(), Stream(), Stream())
            """,
        #"Pipeline.swift:pipeline.parallel("fetch") { address in try await fetch(address) }"#: """
            let pipeline = Pipeline(of: URL.self)
            """,
        "Pipeline+Run.swift": """
            struct Lines: Sendable {
                let messages = AsyncStream<String> { $0.finish() }
                func next() throws -> String? { nil }
                func add(_ count: Int) {}
            }
            let (reader, connection, total) = (Lines(), Lines(), Lines())
            let (pipeline, files, paths): (Pipeline<String, String>, [String], [String]) = (Pipeline(of: String.self), [], [])
            """,
        "TaskGroup.swift:let group = TaskGroup(keepsOutcomes: true)": """
            struct Chapter: Sendable { var name = "" }
            let pages = [Chapter()]
            func fetch(_ page: Chapter) -> Task<Data> { Task() }
            """,
        "BlockOperation.swift": """
            let queue = OperationQueue()
            """,
        "DispatchQueue.swift": """
            let renderers = Scheduler.shared
            """,
        #"AppTask.swift:let cache = AppTask("cache") { try await cache.warm() } stop: { await cache.flush() }"#: """
            let cache = Caches()
            """,
        "AppTask.swift:listen(for: Reload.self) { [weak self] reload in self?.read(reload.file) }": """
            final class LimitsTask: AppTask, @unchecked Sendable {
            func read(_ file: String) {}
            override func main() {
            LISTING
            } }
            """,
        "AppReport.swift": """
            let report = AppTasks.shared!.report
            """,
    ]
}
