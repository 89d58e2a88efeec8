// Owns the types of a pipeline that never change during runs, and the header of a token. `Pipeline` builds the
// layout, and `PipelineRun` reads it. This file never runs a stage.

internal import OverdriveCore

/// A stage of a pipeline with its value types erased.
@usableFromInline
struct PipelineStage: Sendable {
    /// Moves the value out of the slot, then initialises the slot with the result. If it throws, the slot is empty.
    @usableFromInline typealias Direct = @Sendable (GraphSlot) throws -> Void
    @usableFromInline typealias Suspending = @Sendable (GraphSlot) async throws -> Void

    @usableFromInline
    enum Mode: Sendable {
        /// Any number of items at a time.
        case parallel
        /// One item at a time, in the source's order.
        case ordered
        /// One item at a time, in the order of arrival.
        case serial
    }

    @usableFromInline
    enum Body: Sendable {
        case direct(Direct)
        case suspending(Suspending)
    }

    let name: String
    let mode: Mode
    let body: Body

    fileprivate var isSuspending: Bool {
        if case .suspending = body { return true }
        return false
    }
}

/// The size, alignment and deinitialiser of the values between two stages. A token's slot holds such values.
struct PipelineValue: Sendable {
    let size: Int
    let alignment: Int
    /// Deinitialises a value. It is nil if the type needs no deinitialisation.
    let destroy: (@Sendable (GraphSlot) -> Void)?

    init<T: Sendable>(_ type: T.Type) {
        size = MemoryLayout<T>.stride
        alignment = MemoryLayout<T>.alignment
        guard alignment <= GraphLayout.slotAlignment else {
            trap("Pipeline: alignment of \(T.self) is too large (\(alignment)). Use a class or an array.")
        }
        guard !_isPOD(T.self) else {
            destroy = nil
            return
        }
        destroy = { $0.deinitialize(T.self) }
    }
}

/// The stages of a pipeline. A layout never changes, and runs share it.
@usableFromInline
final class PipelineLayout: Sendable {
    let name: String
    let tokens: Int
    let queue: TaskQueue
    /// The largest number of threads of one run.
    let threads: Int
    let stages: ContiguousArray<PipelineStage>
    /// The type of the value before each stage. The last entry is the pipeline's output.
    let values: ContiguousArray<PipelineValue>
    /// The index of the first entry of each stage's ring; -1 for a parallel stage.
    let rings: ContiguousArray<Int>
    /// The number of entries of a ring: the smallest power of 2 that is at least the token limit.
    let ringSize: Int
    /// Whether a run may wait while no thread runs a stage.
    let mayWait: Bool

    convenience init(name: String, tokens: Int, queue: TaskQueue, threads: Int, input: PipelineValue) {
        self.init(name: name, tokens: tokens, queue: queue, threads: threads, stages: [], values: [input])
    }

    private init(
        name: String, tokens: Int, queue: TaskQueue, threads: Int, stages: ContiguousArray<PipelineStage>,
        values: ContiguousArray<PipelineValue>
    ) {
        self.name = name
        self.tokens = tokens
        self.queue = queue
        self.threads = threads
        self.stages = stages
        self.values = values
        var size = 1
        while size < tokens { size *= 2 }
        ringSize = size
        var next = 0
        rings = ContiguousArray(stages.map { stage in
            guard stage.mode != .parallel else { return -1 }
            defer { next += size }
            return next
        })
        mayWait = stages.contains(where: \.isSuspending)
    }

    func adding(_ stage: PipelineStage, giving value: PipelineValue) -> PipelineLayout {
        PipelineLayout(
            name: name, tokens: tokens, queue: queue, threads: threads, stages: stages + [stage], values: values + [value])
    }

    /// The number of stages that run one item at a time.
    var ringCount: Int { rings.count { $0 >= 0 } }
}

/// The header of a token, which carries one item. Only the thread that moves the token, or that holds the lock of the
/// list with the token, accesses it.
struct PipelineToken {
    enum Step: UInt8 {
        /// The token arrives at its stage.
        case arrives
        /// The stage runs the token next. The thread that ran the position before has taken the token from the ring.
        case isAdmitted
        /// The stage's closure has returned.
        case isPast
    }

    /// The item's number in the source's order.
    var item = 0
    /// The token's position in its stage, if the stage is not parallel.
    var position = 0
    /// The stage of the token; -1 if the token is free.
    var stage: Int32 = -1
    /// The next token of the same list; -1 for the last one.
    var next: Int32 = -1
    var step = Step.arrives
    /// Whether the slot is empty, because the item failed or is not needed.
    var isEmpty = true
    /// Whether the item has passed all stages.
    var hasFinished = false
}
