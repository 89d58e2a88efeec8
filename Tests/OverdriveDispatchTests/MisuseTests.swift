import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    /// What ends a program in Dispatch ends it here, and says why.
    @Suite("Misuse of the drop-in types")
    struct Misuse {
        @Test("ends the process with a sentence", arguments: scenes.names)
        func ends(name: String) async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
                await Self.scenes.play(name)
            }
            let (words, told) = (try #require(Self.scenes.sentence(of: name)), sentences(result?.standardErrorContent))
            #expect(told.count == 1 && told.allSatisfy { $0.contains(words) }, "\(told)")
        }

        private static let scenes = [
            Scene("over-resume of a queue", says: "DispatchQueue.resume(): the queue is not suspended (\"journal\")") {
                DispatchQueue(label: "journal").resume()
            },
            Scene("release of a suspended queue", says: "DispatchQueue.deinit: the queue is suspended (\"journal\")") {
                DispatchQueue(label: "journal").suspend()
            },
            Scene("release of an inactive queue", says: "DispatchQueue.deinit: the queue is not activated (\"journal\")") {
                _ = DispatchQueue(label: "journal", attributes: .initiallyInactive)
            },
            Scene("a target for an active queue", says: "DispatchQueue.setTarget(queue:): the queue is active (\"journal\")") {
                DispatchQueue(label: "journal").setTarget(queue: .global())
            },
            Scene("sync onto oneself", says: "would wait for itself") {
                let queue = DispatchQueue(label: "journal")
                queue.sync { queue.sync {} }
            },
            Scene("sync onto the target that one is on", says: "would wait for itself") {
                let target = DispatchQueue(label: "target")
                let queue = DispatchQueue(label: "journal", target: target)
                queue.async { target.sync {} }
                queue.sync {}
                queue.sync {}
            },
            Scene("sync onto main on the main thread", says: "main.sync: the main thread would wait for itself") {
                await MainActor.run { DispatchQueue.main.sync {} }
            },
            Scene("leave without enter", says: "leave") { DispatchGroup().leave() },
            Scene("a semaphore that goes with permits missing", says: "permits are missing (0 of 1 are there)") {
                DispatchSemaphore(value: 1).wait()
            },
            Scene("a semaphore that begins below zero", says: "DispatchSemaphore(value:): negative number (-1). Choose 0 or more.") {
                _ = DispatchSemaphore(value: -1)
            },
            Scene("a precondition to be on a queue", says: "not on the queue (\"journal\"), but on a thread that runs no queue's closure") {
                dispatchPrecondition(condition: .onQueue(DispatchQueue(label: "journal")))
            },
            Scene("a precondition not to be on it", says: "called from a closure of the queue (\"journal\"). Call it elsewhere.") {
                let queue = DispatchQueue(label: "journal")
                queue.sync { dispatchPrecondition(condition: .notOnQueue(queue)) }
            },
            Scene("a precondition to be its barrier", says: "not a barrier of the queue (\"journal\")") {
                let queue = DispatchQueue(label: "journal", attributes: .concurrent)
                queue.sync { dispatchPrecondition(condition: .onQueueAsBarrier(queue)) }
            },
            Scene("a precondition with its place", says: "dispatchPrecondition at here:7: called from a closure of the queue (\"journal\")") {
                let queue = DispatchQueue(label: "journal")
                queue.sync { OverdriveDispatch.dispatchPrecondition(condition: .notOnQueue(queue), file: "here", line: 7) }
            },
            Scene("a source that is resumed too often", says: "DispatchSource.resume(): the source is not suspended") {
                let timer = DispatchSource.makeTimerSource()
                timer.resume()
                timer.resume()
            },
            Scene("a source that is let go before it is active", says: "DispatchSource.deinit: the source is not activated") {
                _ = DispatchSource.makeTimerSource()
            },
            Scene("a source that is let go while it is suspended", says: "DispatchSource.deinit: the source is suspended") {
                let timer = DispatchSource.makeTimerSource()
                timer.activate()
                timer.suspend()
            },
            Scene("an operation that is added twice", says: "is in a queue") {
                let queue = OperationQueue()
                queue.isSuspended = true
                let op = Operation()
                queue.addOperation(op)
                queue.addOperation(op)
            },
            Scene("an operation that depends on itself", says: "would wait for itself") {
                let op = Operation()
                op.addDependency(op)
            },
            Scene("an operation that is started too early", says: "a dependency has not finished") {
                let op = Operation()
                op.addDependency(Operation())
                op.start()
            },
            Scene("an operation that waits for its own queue", says: "would wait for itself") {
                let queue = OperationQueue()
                queue.addOperations(
                    [BlockOperation { queue.waitUntilAllOperationsAreFinished() }], waitUntilFinished: true)
            },
            Scene("a limit below nothing", says: "OperationQueue.maxConcurrentOperationCount: out of range (-2)") {
                OperationQueue().maxConcurrentOperationCount = -2
            },
            Scene("a block that is added after the start", says: "BlockOperation.addExecutionBlock(_:)") {
                let op = BlockOperation {}
                op.start()
                op.addExecutionBlock {}
            },
            Scene("a block that is added by one that runs", says: "BlockOperation.addExecutionBlock(_:)") {
                let kept = Box<BlockOperation?>(nil)
                let op = BlockOperation { kept.value?.addExecutionBlock {} }
                kept.value = op
                op.start()
            },
            Scene("an operation that is started while it runs", says: "Operation.start(): the operation is executing") {
                let kept = Box<Operation?>(nil)
                let op = BlockOperation { kept.value?.start() }
                kept.value = op
                op.start()
            },
            Scene(
                "an operation that is started while a queue is to start it",
                says: "Operation.start(): the operation is in a queue") {
                let queue = OperationQueue()
                queue.isSuspended = true
                let op = BlockOperation {}
                queue.addOperation(op)
                op.start()
            },
            Scene(
                "an operation that is added after it has finished",
                says: "the operation has finished, is executing or is in a queue") {
                let op = BlockOperation {}
                op.start()
                OperationQueue().addOperation(op)
            },
            Scene("an underlying queue for the main one", says: "OperationQueue.main.underlyingQueue: cannot be changed") {
                OperationQueue.main.underlyingQueue = .global()
            },
            Scene(
                "an underlying queue for one that has operations",
                says: "OperationQueue.underlyingQueue: the queue has operations") {
                let queue = OperationQueue()
                queue.isSuspended = true
                queue.addOperation {}
                queue.underlyingQueue = .global()
            },
            Scene(
                "an underlying queue for one that has a barrier",
                says: "OperationQueue.underlyingQueue: the queue has operations") {
                let queue = OperationQueue()
                queue.isSuspended = true
                queue.addBarrierBlock {}
                queue.underlyingQueue = .global()
            },
            Scene(
                "a target that runs on libdispatch, once the queue is made",
                says: "the target runs on libdispatch (\"journal\" on \"com.apple.main-thread\")") {
                DispatchQueue(label: "journal", attributes: .initiallyInactive).setTarget(queue: .main)
            },
            Scene("less than no iterations", says: "concurrentPerform(iterations:): negative number (-1). Choose 0 or more.") {
                DispatchQueue.concurrentPerform(iterations: -1) { _ in }
            },
            Scene("events of a process that nothing watches", says: "only .exit can be watched on Linux") {
                _ = DispatchSource.makeProcessSource(identifier: 1, eventMask: [])
            },
        ]
    }
}
