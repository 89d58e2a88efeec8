// Owns the functions that run a pipeline over a source, and the sources themselves. Programs call them. `PipelineRun`
// moves the items; this file never runs a stage.

public import OverdriveCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension Pipeline {
    /// Moves all items of a sequence through the pipeline and waits for them. The calling thread runs stages too.
    ///
    ///     let squares = Pipeline(of: Int.self).parallel { $0 * $0 }.ordered { print($0) }
    ///     print(try squares.run(over: 1...3), "items")
    ///     // 1
    ///     // 4
    ///     // 9
    ///     // 3 items
    ///
    /// - Parameters:
    ///   - source: The items. One thread at a time calls the iterator, when a token is free.
    ///   - token: A token that cancels the run. The source is not read further, and items skip all stages that they
    ///     have not begun. In running stages ``Cancellation/isRequested`` becomes true. Tasks of asynchronous stages
    ///     are cancelled.
    /// - Returns: The number of items.
    /// - Throws: ``PipelineError/failed(stage:item:error:)`` or ``PipelineError/cancelled(finished:)``, after all
    ///   started stages have returned.
    /// - Ordering: Stages see the caller's earlier writes; the caller sees the writes of all stages.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: The memory of the run's tokens, and an allocation for every 64 items.
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
    ///   - source: The items. One thread at a time calls the iterator, when a token is free.
    ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
    /// - Returns: The number of items.
    /// - Throws: The errors of the blocking form.
    /// - Ordering: The order of the blocking form.
    /// - Threading: Any task.
    /// - Cost: The cost of the blocking form, and a submission for the first item, because the caller runs no stages.
    @inlinable @discardableResult
    public func run<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) async throws(PipelineError) -> Int where S.Element == Input {
        try await runSuspending(token, PipelineSource.pull(source))
    }

    /// Moves the items that a closure returns through the pipeline and waits for them.
    ///
    ///     try pipeline.run(from: { try reader.next() })
    ///
    /// - Parameters:
    ///   - next: A closure that returns the next item, or nil after the last one. One thread at a time calls it. An
    ///     error ends the run like an error of a stage with the name "source".
    ///   - token: A token that cancels the run, as in ``run(over:token:)``.
    /// - Returns: The number of items.
    /// - Throws: The errors of ``run(over:token:)``.
    /// - Ordering: The order of ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: The cost of ``run(over:token:)``.
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
    ///   - next: A closure that returns the next item, or nil after the last one, as in the blocking form.
    ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
    /// - Returns: The number of items.
    /// - Throws: The errors of the blocking form.
    /// - Ordering: The order of the blocking form.
    /// - Threading: Any task.
    /// - Cost: The cost of the blocking form.
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
    ///   - source: The items. A Swift task reads the sequence when a token is free. A cancelled run and an error
    ///     cancel that task. The run waits until the sequence returns.
    ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
    /// - Returns: The number of items.
    /// - Throws: The errors of ``run(over:token:)``. An error of the sequence ends the run, with "source" as the
    ///   stage's name.
    /// - Ordering: The order of ``run(over:token:)``.
    /// - Threading: Any task.
    /// - Cost: The cost of ``run(over:token:)``, and a submission for each item that comes while no thread moves
    ///   items.
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

    /// Moves all items through the pipeline and returns the results in the order of the source.
    ///
    ///     let sizes = try Pipeline(of: String.self).parallel { try fileSize($0) }.collect(over: paths)
    ///
    /// - Parameters:
    ///   - source: The items, as in ``run(over:token:)``.
    ///   - token: A token that cancels the run, as in ``run(over:token:)``.
    /// - Returns: A result for each item.
    /// - Throws: The errors of ``run(over:token:)``.
    /// - Ordering: The order of ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: The cost of ``run(over:token:)``, an ordered stage, and the array.
    @available(*, noasync, message: "write await collect(over:) inside an async function, not at the top level of a file")
    @inlinable
    public func collect<S: Sequence>(
        over source: sending S, token: CancellationToken? = nil
    ) throws(PipelineError) -> [Output] where S.Element == Input {
        let results = PipelineResults<Output>()
        try ordered("collect") { results.append($0) }.run(over: source, token: token)
        return results.take()
    }

    /// Moves all items through the pipeline without blocking, and returns the results in the order of the source.
    ///
    /// - Parameters:
    ///   - source: The items, as in ``run(over:token:)``.
    ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
    /// - Returns: A result for each item.
    /// - Throws: The errors of the blocking form.
    /// - Ordering: The order of the blocking form.
    /// - Threading: Any task.
    /// - Cost: The cost of the blocking form.
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
        watch?.remove()
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
        watch?.remove()
        return try run.outcome()
    }

    /// Forwards a cancel of the token at once. Polling would not do, because a run may wait while no thread runs a
    /// stage.
    private func watch(_ token: CancellationToken?, _ run: PipelineRun) -> CancellationToken.Handler? {
        token?.onCancel { run.cancel() }
    }
}

extension Pipeline where Input == String {
    /// Moves the lines of a file through the pipeline and waits for them.
    ///
    ///     let words = Pipeline(of: String.self).parallel { $0.split(separator: " ").count }.ordered { total.add($0) }
    ///     try words.run(linesOf: "notes.txt")
    ///
    /// The file is read as items leave the pipeline. Lines come without the line feed. Bytes that are not UTF-8
    /// become U+FFFD.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - token: A token that cancels the run, as in ``run(over:token:)``.
    /// - Returns: The number of lines.
    /// - Throws: The errors of ``run(over:token:)``. If the file cannot be opened or read, the stage "source" fails
    ///   with a ``PipelineFileError``.
    /// - Ordering: The order of ``run(over:token:)``.
    /// - Threading: Any thread; in an `async` function call the other form.
    /// - Cost: The cost of ``run(over:token:)``, and a string for each line. The thread that reads blocks.
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
    ///   - token: A token that cancels the run. Cancelling the calling task cancels the run too.
    /// - Returns: The number of lines.
    /// - Throws: The errors of the blocking form.
    /// - Ordering: The order of the blocking form.
    /// - Threading: Any task.
    /// - Cost: The cost of the blocking form. A worker blocks while it reads.
    @discardableResult
    public func run(linesOf path: String, token: CancellationToken? = nil) async throws(PipelineError) -> Int {
        let lines = FileLines(path)
        return try await runSuspending(token, PipelineSource.pull(from: { try lines.next() }))
    }
}

/// The error of a file that a pipeline cannot read.
public struct PipelineFileError: Error, CustomStringConvertible {
    /// The file's path.
    public let path: String
    /// The system's error number.
    public let code: Int32

    public var description: String {
        "Pipeline.run(linesOf:): cannot read the file (\(path): \(unsafe String(cString: strerror(code)))). Check the path."
    }
}

/// Reads the lines of a file. One thread at a time calls it.
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

/// A sequence's iterator. One thread at a time calls it.
@usableFromInline
final class PipelineItems<Items: IteratorProtocol> {
    // The run gives the right to the source to one thread at a time, which orders all accesses.
    @exclusivity(unchecked) @usableFromInline var iterator: Items

    @inlinable
    init(_ iterator: Items) {
        unsafe self.iterator = iterator
    }
}

/// Adapts sources to the closure type that a run calls.
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

/// Collects the results of a run, in order.
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
