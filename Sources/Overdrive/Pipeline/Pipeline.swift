// Owns the public type of pipelines and the functions that add stages. Programs call it. It never runs a stage.

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
/// A stage is a closure that receives the result of the stage before. A parallel stage runs any number of items at a
/// time. An ordered stage runs one item at a time, in the order of the source. A serial stage runs one item at a
/// time, in the order of arrival. At most `tokens` items are in the pipeline, and the source waits for a free token.
/// Memory use therefore does not depend on the length of the source.
///
/// A pipeline is a value: each call that adds a stage returns a longer pipeline. A pipeline can be run any number of
/// times, also concurrently.
///
/// Use a pipeline for many items that pass the same stages. Use ``TaskGraph`` for closures that depend on each other.
///
/// - Ordering: A stage sees the writes of the stage before for the same item. An ordered or serial stage sees its own
///   writes for earlier items.
/// - Threading: `Sendable`. Stages run on the scheduler's workers, and on the thread of a blocking run.
/// - Cost: About 0.1 µs for an item in 3 empty stages; see <doc:Pipelines>.
///
/// Source: the token limit, and the rings in which ordered stages keep early items, follow oneTBB's
/// `parallel_pipeline`.
public struct Pipeline<Input: Sendable, Output: Sendable>: Sendable {
    @usableFromInline let layout: PipelineLayout

    init(_ layout: PipelineLayout) {
        self.layout = layout
    }

    /// The largest number of items in the pipeline at a time.
    public var tokens: Int { layout.tokens }

    /// Creates a pipeline without stages.
    ///
    /// - Parameters:
    ///   - input: The type of the source's items.
    ///   - tokens: The largest number of items in the pipeline at a time, from 1 to 1,048,576; nil means 4
    ///     for each worker.
    ///   - name: The label of the pipeline's jobs in dumps and warnings.
    ///   - scheduler: The scheduler whose workers run the stages.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: A queue. A run allocates at least 64 bytes for each token, and 64 bytes more for each ordered or
    ///   serial stage.
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
    ///   - body: The closure, which receives the result of the stage before. An error of the closure ends the run;
    ///     see ``PipelineError``.
    /// - Returns: The longer pipeline.
    /// - Ordering: Items come in any order. An item passes consecutive parallel stages on the same thread.
    /// - Threading: `body` runs on several threads at a time.
    /// - Cost: No allocation for each item.
    @inlinable
    public func parallel<R: Sendable>(
        _ name: String = "", _ body: @escaping @Sendable (Output) throws -> R
    ) -> Pipeline<Input, R> {
        adding(name, .parallel, .direct { slot in slot.initialize(to: try body(slot.move())) })
    }

    /// Adds an asynchronous stage that runs any number of items at a time without blocking workers.
    ///
    ///     pipeline.parallel("fetch") { address in try await fetch(address) }
    ///
    /// - Parameters:
    ///   - name: The stage's name in errors.
    ///   - body: The asynchronous closure. It runs as a Swift task. A cancelled run or the failure of an earlier item
    ///     cancels the task.
    /// - Returns: The longer pipeline.
    /// - Ordering: Items come in any order.
    /// - Threading: The scheduler's workers. A suspended item occupies a token, but no thread.
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
    ///   - body: The closure, which receives the result of the stage before. After the failure of an item, the stage
    ///     still runs for all earlier items. If the item failed in this stage or an earlier one, the stage runs for
    ///     no later item.
    /// - Returns: The longer pipeline.
    /// - Ordering: The order of the source. The stage sees its own writes for all earlier items.
    /// - Threading: Any of the run's threads, one at a time. An item that arrives early waits without a thread.
    /// - Cost: 2 atomic instructions for each item.
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
    ///   - body: The asynchronous closure. The next item waits until the closure has returned.
    /// - Returns: The longer pipeline.
    /// - Ordering: The order of the source, as in the synchronous form.
    /// - Threading: The scheduler's workers. A suspended item occupies a token, but no thread.
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
    /// - Ordering: The order of arrival. The stage sees its own writes for earlier items.
    /// - Threading: Any of the run's threads, one at a time.
    /// - Cost: 3 atomic instructions for each item.
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
    ///   - body: The asynchronous closure. The next item waits until the closure has returned.
    /// - Returns: The longer pipeline.
    /// - Ordering: The order of arrival, as in the synchronous form.
    /// - Threading: The scheduler's workers. A suspended item occupies a token, but no thread.
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

/// The error of a run that did not finish all items of its source.
public enum PipelineError: Error, CustomStringConvertible {
    /// A stage or the source threw: the stage's name, the item's number from 0, and the error.
    ///
    /// If several items failed, this is the first one in the order of the source, as in a loop over the items.
    case failed(stage: String, item: Int, error: any Error)
    /// The run was cancelled, or its scheduler was shut down; the number of items that passed all stages.
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
