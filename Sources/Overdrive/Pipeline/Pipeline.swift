public import OverdriveCore

/// Moves items through stages, several items at a time.
///
///     let pipeline = Pipeline(of: String.self, tokens: 8)
///         .parallel("count") { line in line.split(separator: " ").count }
///         .ordered("print") { count in print(count) }
///     try pipeline.run(over: ["one two", "three"])
///     // 2
///     // 1
///
/// A stage is a closure that receives the result of the stage before. A parallel stage runs any number of items at a time; an
/// ordered stage runs one at a time, in the order of the source; a serial stage runs one at a time, in the order of arrival.
/// At most `tokens` items are on their way: the source waits for a free token, so memory stays bounded however long the source is.
///
/// A pipeline is a value: each call that adds a stage returns a longer pipeline. A pipeline runs as often as the program asks,
/// several runs at a time too.
///
/// Take a pipeline for many items that take the same path. Take ``TaskGraph`` for closures that depend on each other.
///
/// - Ordering: A stage sees what the stage before wrote for the item. An ordered or serial stage sees what its closure wrote
///   for earlier items.
/// - Threading: `Sendable`. Stages run on the scheduler's workers, and on the thread of a blocking run.
/// - Cost: About 0.1 µs an item for 3 empty stages; see <doc:Pipelines>.
///
/// Source: tokens that bound the items on their way, and ordered stages that keep early items in a ring, follow
/// oneTBB's `parallel_pipeline`.
public struct Pipeline<Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline let layout: PipelineLayout

    init(_ layout: PipelineLayout) {
        self.layout = layout
    }

    /// How many items can be on their way at a time.
    public var tokens: Int { layout.tokens }

    /// Makes a pipeline without stages.
    ///
    /// - Parameters:
    ///   - input: The type of the source's items.
    ///   - tokens: How many items can be on their way at a time, from 1 to 1,048,576; nil is 4 for each worker.
    ///   - name: The label of the pipeline's jobs in dumps and warnings.
    ///   - scheduler: The scheduler whose workers run the stages.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A queue. A run takes 64 bytes or more for each token, and 64 for each token and stage that is not parallel.
    public init(
        of input: Input.Type, tokens: Int? = nil, name: String = "pipeline", scheduler: Scheduler = .shared
    ) where Input == Output {
        let tokens = tokens ?? 4 * scheduler.workerCount
        guard 1...(1 << 20) ~= tokens else {
            trap("Pipeline(of:tokens:): number of tokens out of range (\(tokens)). Choose 1 to 1048576.")
        }
        layout = PipelineLayout(
            name: name, tokens: tokens, queue: .concurrent(label: name, scheduler: scheduler),
            threads: min(tokens, scheduler.workerCount), input: PipelineValue(Input.self))
    }

    // MARK: - Stages

    /// Adds a stage that runs any number of items at a time.
    ///
    ///     pipeline.parallel("parse") { line in try parse(line) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The closure, which receives the result of the stage before. An error ends the run; see ``PipelineError``.
    /// - Returns: The longer pipeline.
    /// - Ordering: Items come in any order. An item goes from one parallel stage to the next on the same thread.
    /// - Threading: `body` runs on several threads at a time.
    /// - Cost: No allocation for an item.
    @inlinable
    public func parallel<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .parallel, .direct { slot in slot.initialize(to: try body(slot.move())) })
    }

    /// Adds a stage that runs any number of items at a time, and suspends instead of blocking a worker.
    ///
    ///     pipeline.parallel("fetch") { address in try await fetch(address) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The asynchronous closure. It runs as a Swift task, which is cancelled with the run and after the failure of
    ///     an earlier item.
    /// - Returns: The longer pipeline.
    /// - Ordering: Items come in any order.
    /// - Threading: The scheduler's workers. A suspended item takes a token and no thread.
    /// - Cost: A Swift task for each item.
    public func parallel<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) async throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .parallel, .suspending { slot in slot.initialize(to: try await body(slot.move())) })
    }

    /// Adds a stage that runs one item at a time, in the order of the source.
    ///
    ///     pipeline.ordered("write") { record in try file.write(record) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The closure, which receives the result of the stage before. After the failure of an item, the stage runs for
    ///     all items before that one, and for none behind it if the item failed here or earlier.
    /// - Returns: The longer pipeline.
    /// - Ordering: Strict: the stage sees what it wrote for all items before.
    /// - Threading: Any of the run's threads, one at a time. An early item waits without a thread.
    /// - Cost: 2 locked instructions an item.
    @inlinable
    public func ordered<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .ordered, .direct { slot in slot.initialize(to: try body(slot.move())) })
    }

    /// Adds an asynchronous stage that runs one item at a time, in the order of the source.
    ///
    ///     pipeline.ordered("send") { record in try await connection.send(record) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The asynchronous closure; the next item waits until it has returned.
    /// - Returns: The longer pipeline.
    /// - Ordering: As the other form.
    /// - Threading: The scheduler's workers. A suspended item takes a token and no thread.
    /// - Cost: A Swift task for each item.
    public func ordered<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) async throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .ordered, .suspending { slot in slot.initialize(to: try await body(slot.move())) })
    }

    /// Adds a stage that runs one item at a time, in the order of arrival.
    ///
    ///     pipeline.serial("sum") { value in total.add(value) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The closure, which receives the result of the stage before.
    /// - Returns: The longer pipeline.
    /// - Ordering: The stage sees what it wrote for the items that came before.
    /// - Threading: Any of the run's threads, one at a time.
    /// - Cost: 3 locked instructions an item.
    @inlinable
    public func serial<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .serial, .direct { slot in slot.initialize(to: try body(slot.move())) })
    }

    /// Adds an asynchronous stage that runs one item at a time, in the order of arrival.
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The asynchronous closure; the next item waits until it has returned.
    /// - Returns: The longer pipeline.
    /// - Ordering: As the other form.
    /// - Threading: The scheduler's workers. A suspended item takes a token and no thread.
    /// - Cost: A Swift task for each item.
    public func serial<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) async throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .serial, .suspending { slot in slot.initialize(to: try await body(slot.move())) })
    }

    @usableFromInline
    func adding<R: Sendable>(_ name: String, _ mode: PipelineStage.Mode, _ body: PipelineStage.Body) -> Pipeline<Input, R> {
        let name = name.isEmpty ? "stage \(layout.stages.count)" : name
        return Pipeline<Input, R>(
            layout.adding(PipelineStage(name: name, mode: mode, body: body), giving: PipelineValue(R.self)))
    }
}

/// Why a pipeline's run ended before its source.
public enum PipelineError: Error, CustomStringConvertible {
    /// A stage, or the source, threw: the stage's name, the item's number from 0, and the error.
    ///
    /// Of several failed items this is the first one in the order of the source, as a loop over the items would find.
    case failed(stage: String, item: Int, error: any Error)
    /// The run was cancelled, or its scheduler was shut down: how many items passed all stages.
    case cancelled(finished: Int)

    public var description: String {
        switch self {
        case .failed(let stage, let item, let error):
            "Pipeline.run: stage \"\(stage)\" failed for item \(item) (\(error))."
        case .cancelled(let finished):
            "Pipeline.run: cancelled (\(finished) items had passed all stages)."
        }
    }
}

extension GraphSlot {
    @inlinable
    func move<A>() -> A {
        unsafe pointer.assumingMemoryBound(to: A.self).move()
    }
}
