// Owns the operation of several closures. Programs create it. It runs the first closure itself, and waits for the others.

internal import OverdriveCore

/// Runs several closures concurrently. The operation finishes when all closures have returned.
///
///     let thumbnails = BlockOperation { makeSmall() }
///     thumbnails.addExecutionBlock { makeLarge() }
///     queue.addOperation(thumbnails)
open class BlockOperation: Operation, @unchecked Sendable {
    private let section = CriticalSection()
    private var blocks: [@Sendable () -> Void] = []

    /// Creates an operation without closures, which finishes at once.
    public override init() {}

    /// Creates an operation with one closure.
    @preconcurrency
    public convenience init(block: @escaping @Sendable () -> Void) {
        self.init()
        blocks = [block]
    }

    /// Adds a closure. Traps once the operation has started.
    @preconcurrency
    open func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
        if isExecuting || isFinished {
            trap("BlockOperation.addExecutionBlock(_:): the operation has started. Add blocks before it starts.")
        }
        section { blocks.append(block) }
    }

    /// The closures, in the order of their additions.
    open var executionBlocks: [@Sendable () -> Void] { section { blocks } }

    /// Runs the first closure on this thread and the others on a shared queue, and waits for all of them.
    open override func main() {
        let blocks = executionBlocks
        guard let first = blocks.first else { return }
        let group = WaitGroup()
        for block in blocks.dropFirst() {
            TaskQueue.global(qos: TaskQueue.QoS.current ?? .default).async(group: group, execute: block)
        }
        first()
        if blocks.count > 1 { group.wait() }
    }
}
