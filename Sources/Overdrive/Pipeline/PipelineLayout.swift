internal import OverdriveCore

/// A stage of a pipeline, without its types.
@usableFromInline
struct PipelineStage: Sendable {
    /// Moves the value out of the slot, then initialises the slot with the result. After an error the slot is empty.
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

/// A type that values in a token's slot have at some stage.
struct PipelineValue: Sendable {
    let size: Int
    let alignment: Int
    /// nil: a value needs no deinitialisation.
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

/// The stages of a pipeline. A layout never changes; runs share it.
@usableFromInline
final class PipelineLayout: Sendable {
    let name: String
    let tokens: Int
    let queue: TaskQueue
    /// The most threads that one run takes.
    let threads: Int
    let stages: ContiguousArray<PipelineStage>
    /// The value before each stage; the last one is the pipeline's output.
    let values: ContiguousArray<PipelineValue>
    /// Where each stage's ring begins, in entries; -1 for a parallel stage.
    let rings: ContiguousArray<Int>
    /// Entries of one ring: the lowest power of 2 that is not below the token limit.
    let ringSize: Int
    /// A run may wait while no thread runs a stage.
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

    /// Stages that run one item at a time.
    var ringCount: Int { rings.count { $0 >= 0 } }
}

/// An item on its way. The thread that runs the token, or holds its place in a list, is the only one that reads or writes it.
struct PipelineToken {
    enum Step: UInt8 {
        /// The token comes to its stage.
        case arrives
        /// The stage runs the token next: the thread that ran the position before has taken the token from the ring.
        case isAdmitted
        /// The stage's closure has returned.
        case isPast
    }

    /// The item's number in the source's order.
    var item = 0
    /// The token's number in its stage, if the stage is not parallel.
    var position = 0
    /// The stage that the token is in; -1: the token is free.
    var stage: Int32 = -1
    /// The next token of the list that this one is in; -1: the last one.
    var next: Int32 = -1
    var step = Step.arrives
    /// The slot is empty: the item failed, or is not needed.
    var isEmpty = true
    /// The item has passed all stages.
    var hasFinished = false
}
