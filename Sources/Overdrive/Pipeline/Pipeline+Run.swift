public import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Pipeline {
    /// Moves all items of a sequence through the pipeline, and waits for them. The calling thread takes part.
    ///
    ///     let squares = Pipeline(of: Int.self).parallel { $0 * $0 }.ordered { print($0) }
    ///     print(try squares.run(over: 1...3), "items")
    ///     // 1
    ///     // 4
    ///     // 9
    ///     // 3 items
    ///
    /// - Parameters:
    ///   - source: The items. Its iterator is called by one thread at a time, as tokens come free.
    ///   - token: Cancels the run: no further item is drawn, and items skip all stages that they have not begun. In stages that
    ///     run ``Cancellation/isRequested`` turns true. Tasks of asynchronous stages are cancelled.
    /// - Returns: How many items there were.
    /// - Throws: ``PipelineError/failed(stage:item:error:)`` or ``PipelineError/cancelled(finished:)``, after all stages that
    ///   had begun have returned.
    /// - Ordering: Stages see what the caller wrote before; the caller sees what all stages wrote.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: The run's tokens, and an allocation for every 64 items.
    @available(*, noasync, message: "write await run(over:) inside an async function, not at the top level of a file")
    @inlinable @discardableResult
    public func run<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) throws(PipelineError) -> Int where S.Element == Input {
        try runBlocking(token, PipelineSource.pull(source))
    }

    /// Moves all items of a sequence through the pipeline, without blocking the caller's thread.
    ///
    ///     try await pipeline.run(over: files)
    ///
    /// - Parameters:
    ///   - source: The items. Its iterator is called by one thread at a time, as tokens come free.
    ///   - token: Cancels the run, as the cancellation of the calling task does.
    /// - Returns: How many items there were.
    /// - Throws: As the blocking form.
    /// - Ordering: As the blocking form.
    /// - Threading: Any task.
    /// - Cost: As the blocking form; and the first item is a submission, since the caller does not take part.
    @inlinable @discardableResult
    public func run<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) async throws(PipelineError) -> Int where S.Element == Input {
        try await runSuspending(token, PipelineSource.pull(source))
    }

    /// Moves the items that a closure returns through the pipeline, and waits for them.
    ///
    ///     try pipeline.run(from: { try reader.next() })
    ///
    /// - Parameters:
    ///   - next: Returns the next item, or nil after the last one. It is called by one thread at a time. An error ends the run,
    ///     as a stage's error does; the stage's name is then "source".
    ///   - token: Cancels the run, as in ``run(over:token:)``.
    /// - Returns: How many items there were.
    /// - Throws: As ``run(over:token:)``.
    /// - Ordering: As ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: As ``run(over:token:)``.
    @available(*, noasync, message: "write await run(from:) inside an async function, not at the top level of a file")
    @inlinable @discardableResult
    public func run(
        from next: sending @escaping () throws -> Input?, token: CancellationToken? = nil
    ) throws(PipelineError) -> Int {
        try runBlocking(token, PipelineSource.pull(from: next))
    }

    /// Moves the items that a closure returns through the pipeline, without blocking the caller's thread.
    ///
    /// - Parameters:
    ///   - next: Returns the next item, or nil after the last one, as in the blocking form.
    ///   - token: Cancels the run, as the cancellation of the calling task does.
    /// - Returns: How many items there were.
    /// - Throws: As the blocking form.
    /// - Ordering: As the blocking form.
    /// - Threading: Any task.
    /// - Cost: As the blocking form.
    @inlinable @discardableResult
    public func run(
        from next: sending @escaping () throws -> Input?, token: CancellationToken? = nil
    ) async throws(PipelineError) -> Int {
        try await runSuspending(token, PipelineSource.pull(from: next))
    }

    /// Moves all items of an asynchronous sequence through the pipeline.
    ///
    ///     try await pipeline.run(over: connection.messages)
    ///
    /// - Parameters:
    ///   - source: The items. A Swift task reads the sequence as tokens come free. The task is cancelled with the run, and after
    ///     an error; the run waits until the sequence returns.
    ///   - token: Cancels the run, as the cancellation of the calling task does.
    /// - Returns: How many items there were.
    /// - Throws: As ``run(over:token:)``. An error of the sequence ends the run, with "source" as the stage's name.
    /// - Ordering: As ``run(over:token:)``.
    /// - Threading: Any task.
    /// - Cost: As ``run(over:token:)``, and a submission for each item that comes while no thread moves items.
    @discardableResult
    public func run<S: AsyncSequence & Sendable>(
        over source: S, token: CancellationToken? = nil
    ) async throws(PipelineError) -> Int where S.Element == Input {
        let run = PipelineRun(layout, token: token, pull: nil)
        return try await finish(run, token) {
            run.read { run in
                var items = source.makeAsyncIterator()
                while let id = await run.freeToken(), let item = try await items.next() {
                    run.give(id) { $0.initialize(to: item) }
                }
            }
        }
    }

    /// Moves all items through the pipeline, and returns the results in the order of the source.
    ///
    ///     let sizes = try Pipeline(of: String.self).parallel { try fileSize($0) }.collect(over: paths)
    ///
    /// - Parameters:
    ///   - source: The items, as in ``run(over:token:)``.
    ///   - token: Cancels the run, as in ``run(over:token:)``.
    /// - Returns: A result for each item.
    /// - Throws: As ``run(over:token:)``.
    /// - Ordering: As ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: As ``run(over:token:)``, an ordered stage, and the array.
    @available(*, noasync, message: "write await collect(over:) inside an async function, not at the top level of a file")
    @inlinable
    public func collect<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) throws(PipelineError) -> [Output] where S.Element == Input {
        let results = PipelineResults<Output>()
        try ordered("collect") { results.append($0) }.run(over: source, token: token)
        return results.take()
    }

    /// Moves all items through the pipeline, and returns the results in the order of the source, without blocking the
    /// caller's thread.
    ///
    /// - Parameters:
    ///   - source: The items, as in ``run(over:token:)``.
    ///   - token: Cancels the run, as the cancellation of the calling task does.
    /// - Returns: A result for each item.
    /// - Throws: As the blocking form.
    /// - Ordering: As the blocking form.
    /// - Threading: Any task.
    /// - Cost: As the blocking form.
    @inlinable
    public func collect<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) async throws(PipelineError) -> [Output] where S.Element == Input {
        let results = PipelineResults<Output>()
        try await ordered("collect") { results.append($0) }.run(over: source, token: token)
        return results.take()
    }

    @usableFromInline
    func runBlocking(_ token: CancellationToken?, _ pull: @escaping PipelineRun.Pull) throws(PipelineError) -> Int {
        let run = PipelineRun(layout, token: token, pull: pull)
        let watch = watch(token, run)
        run.start(here: true)
        run.group.wait()
        if let watch { token?.withdraw(watch) }
        return try run.outcome()
    }

    @usableFromInline
    func runSuspending(_ token: CancellationToken?, _ pull: sending @escaping PipelineRun.Pull) async throws(PipelineError) -> Int {
        let run = PipelineRun(layout, token: token, pull: pull)
        return try await finish(run, token) { run.start(here: false) }
    }

    private func finish(
        _ run: PipelineRun, _ token: CancellationToken?, _ start: () -> Void
    ) async throws(PipelineError) -> Int {
        let watch = watch(token, run)
        await withTaskCancellationHandler {
            run.group.enter()
            start()
            run.group.leave()
            await run.group.wait()
        } onCancel: {
            run.cancel()
        }
        if let watch { token?.withdraw(watch) }
        return try run.outcome()
    }

    /// Passes a cancel of the token on at once: a run may wait where no thread asks the token.
    private func watch(_ token: CancellationToken?, _ run: PipelineRun) -> Int? {
        token?.onCancel { run.cancel() }
    }
}

extension Pipeline where Input == String {
    /// Moves the lines of a file through the pipeline, and waits for them.
    ///
    ///     let words = Pipeline(of: String.self).parallel { $0.split(separator: " ").count }.ordered { total.add($0) }
    ///     try words.run(linesOf: "notes.txt")
    ///
    /// The file is read as tokens come free. Lines have no line feed; bytes that are not UTF-8 become U+FFFD.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - token: Cancels the run, as in ``run(over:token:)``.
    /// - Returns: How many lines there were.
    /// - Throws: As ``run(over:token:)``. A file that cannot be opened or read is a ``PipelineFileError`` of the stage "source".
    /// - Ordering: As ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: As ``run(over:token:)``, and a string for each line. The thread that reads blocks.
    @available(*, noasync, message: "write await run(linesOf:) inside an async function, not at the top level of a file")
    @discardableResult
    public func run(linesOf path: String, token: CancellationToken? = nil) throws(PipelineError) -> Int {
        let lines = FileLines(path)
        return try runBlocking(token, PipelineSource.pull(from: { try lines.next() }))
    }

    /// Moves the lines of a file through the pipeline, without blocking the caller's thread.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - token: Cancels the run, as the cancellation of the calling task does.
    /// - Returns: How many lines there were.
    /// - Throws: As the blocking form.
    /// - Ordering: As the blocking form.
    /// - Threading: Any task.
    /// - Cost: As the blocking form. A worker blocks while it reads.
    @discardableResult
    public func run(linesOf path: String, token: CancellationToken? = nil) async throws(PipelineError) -> Int {
        let lines = FileLines(path)
        return try await runSuspending(token, PipelineSource.pull(from: { try lines.next() }))
    }
}

/// A file whose lines a pipeline cannot read.
public struct PipelineFileError: Error, CustomStringConvertible {
    /// The file's path.
    public let path: String
    /// The system's error number.
    public let code: Int32

    public var description: String {
        "Pipeline.run(linesOf:): cannot read the file (\(path): \(unsafe String(cString: strerror(code)))). Check the path."
    }
}

/// The lines of a file, for one thread at a time.
@safe private final class FileLines {
    private let path: String
    private var file: UnsafeMutablePointer<FILE>?
    private var line: UnsafeMutablePointer<CChar>?
    private var capacity = 0

    init(_ path: String) {
        self.path = path
    }

    deinit {
        if let file = unsafe file { unsafe fclose(file) }
        unsafe free(line)
    }

    func next() throws(PipelineFileError) -> String? {
        if unsafe file == nil { unsafe file = fopen(path, "re") }
        guard let file = unsafe file else { throw PipelineFileError(path: path, code: errno) }
        let length = unsafe getline(&line, &capacity, file)
        guard length >= 0, let line = unsafe line else {
            if unsafe ferror(file) != 0 { throw PipelineFileError(path: path, code: errno) }
            return nil
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: line, count: length)
        return unsafe String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
}

/// A sequence's iterator, for one thread at a time.
@usableFromInline
final class PipelineItems<Items: IteratorProtocol> {
    // The right to the source orders all accesses.
    @exclusivity(unchecked) @usableFromInline var iterator: Items

    @inlinable
    init(_ iterator: Items) {
        unsafe self.iterator = iterator
    }
}

/// Sources as the closures that a run calls.
@usableFromInline
enum PipelineSource {
    @inlinable
    static func pull<S: Sequence>(_ source: sending S) -> sending PipelineRun.Pull {
        let items = PipelineItems(source.makeIterator())
        return { slot in
            guard let item = unsafe items.iterator.next() else { return false }
            slot.initialize(to: item)
            return true
        }
    }

    @inlinable
    static func pull<T>(from next: sending @escaping () throws -> T?) -> sending PipelineRun.Pull {
        { slot in
            guard let item = try next() else { return false }
            slot.initialize(to: item)
            return true
        }
    }
}

/// The results of a run, in order.
@usableFromInline
final class PipelineResults<T: Sendable>: Sendable {
    private let values = Locked<[T]>([])

    @usableFromInline init() {}

    @usableFromInline
    func append(_ value: T) { values.withLock { $0.append(value) } }

    @usableFromInline
    func take() -> [T] {
        values.withLock { values in
            defer { values = [] }
            return values
        }
    }
}
