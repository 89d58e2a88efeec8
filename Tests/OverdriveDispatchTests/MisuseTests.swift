import OverdriveDispatch
import Testing

extension DropIn {
    /// What ends a program in Dispatch ends it here, and says why.
    @Suite("Misuse of the drop-in types")
    struct Misuse {
        private func expect(
            _ result: ExitTest.Result?, says words: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            let lines = output.split(separator: "\n").filter { $0.hasPrefix("overdrive: ") }
            #expect(lines.count == 1 && lines.allSatisfy { $0.contains(words) }, "\(output)", sourceLocation: sourceLocation)
        }

        @Test("over-resume of a queue")
        func overResume() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchQueue(label: "journal").resume()
            }
            expect(result, says: "DispatchQueue.resume() of \"journal\", which is not suspended")
        }

        @Test("release of a suspended queue")
        func releaseSuspended() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchQueue(label: "journal").suspend()
            }
            expect(result, says: "DispatchQueue \"journal\" was released while it is suspended")
        }

        @Test("release of an inactive queue")
        func releaseInactive() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = DispatchQueue(label: "journal", attributes: .initiallyInactive)
            }
            expect(result, says: "DispatchQueue \"journal\" was released before it was activated")
        }

        @Test("a target for an active queue")
        func lateTarget() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchQueue(label: "journal").setTarget(queue: .global())
            }
            expect(result, says: "DispatchQueue.setTarget(queue:) of \"journal\", which is active")
        }

        @Test("sync onto oneself")
        func selfSync() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = DispatchQueue(label: "journal")
                queue.sync { queue.sync {} }
            }
            expect(result, says: "would wait for itself")
            let target = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let target = DispatchQueue(label: "target")
                let queue = DispatchQueue(label: "journal", target: target)
                queue.async { target.sync {} }
                queue.sync {}
                queue.sync {}
            }
            expect(target, says: "would wait for itself")
            let main = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                await MainActor.run { DispatchQueue.main.sync {} }
            }
            expect(main, says: "main.sync on the main thread would wait for itself")
        }

        @Test("leave without enter")
        func leave() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchGroup().leave()
            }
            expect(result, says: "leave")
        }

        @Test("a semaphore that goes with permits missing, and one that begins below zero")
        func semaphores() async {
            let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchSemaphore(value: 1).wait()
            }
            expect(missing, says: "with 1 permits was released while it had 0")
            let negative = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = DispatchSemaphore(value: -1)
            }
            expect(negative, says: "DispatchSemaphore(value: -1): choose 0 or more")
        }

        @Test("a precondition about the queue that does not hold")
        func preconditions() async {
            let on = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                dispatchPrecondition(condition: .onQueue(DispatchQueue(label: "journal")))
            }
            expect(on, says: "this is not \"journal\", but a thread that runs no queue's closure")
            let notOn = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = DispatchQueue(label: "journal")
                queue.sync { dispatchPrecondition(condition: .notOnQueue(queue)) }
            }
            expect(notOn, says: "this is a closure of \"journal\"")
            let barrier = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = DispatchQueue(label: "journal", attributes: .concurrent)
                queue.sync { dispatchPrecondition(condition: .onQueueAsBarrier(queue)) }
            }
            expect(barrier, says: "this is no barrier of \"journal\"")
        }

        @Test("sources that are resumed too often, or let go before they may be")
        func sources() async {
            let resumed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let timer = DispatchSource.makeTimerSource()
                timer.resume()
                timer.resume()
            }
            expect(resumed, says: "DispatchSource.resume() of a source that is not suspended")
            let inactive = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = DispatchSource.makeTimerSource()
            }
            expect(inactive, says: "DispatchSource was released before it was activated")
            let suspended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let timer = DispatchSource.makeTimerSource()
                timer.activate()
                timer.suspend()
            }
            expect(suspended, says: "DispatchSource was released while it is suspended")
        }

        @Test("operations that are used twice, or wait for themselves")
        func operations() async {
            let twice = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = OperationQueue()
                queue.isSuspended = true
                let op = Operation()
                queue.addOperation(op)
                queue.addOperation(op)
            }
            expect(twice, says: "is in a queue already")
            let onItself = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let op = Operation()
                op.addDependency(op)
            }
            expect(onItself, says: "on itself")
            let early = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let op = Operation()
                op.addDependency(Operation())
                op.start()
            }
            expect(early, says: "which is not ready")
            let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = OperationQueue()
                queue.addOperations(
                    [BlockOperation { queue.waitUntilAllOperationsAreFinished() }], waitUntilFinished: true)
            }
            expect(inside, says: "would wait for itself")
            let limit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                OperationQueue().maxConcurrentOperationCount = -2
            }
            expect(limit, says: "OperationQueue.maxConcurrentOperationCount = -2")
            let late = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let op = BlockOperation {}
                op.start()
                op.addExecutionBlock {}
            }
            expect(late, says: "BlockOperation.addExecutionBlock(_:)")
        }

        @Test("operations that are started while they run, or while a queue is to start them")
        func started() async {
            let running = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let kept = Box<Operation?>(nil)
                let op = BlockOperation { kept.value?.start() }
                kept.value = op
                op.start()
            }
            expect(running, says: "Operation.start() of an operation that is executing already")
            let queued = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = OperationQueue()
                queue.isSuspended = true
                let op = BlockOperation {}
                queue.addOperation(op)
                op.start()
            }
            expect(queued, says: "Operation.start() of an operation that is in a queue, which will start it")
            let again = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let op = BlockOperation {}
                op.start()
                OperationQueue().addOperation(op)
            }
            expect(again, says: "the operation has finished, is executing or is in a queue already")
        }

        @Test("an underlying queue for the main one, and for one that has operations")
        func underlying() async {
            let main = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                OperationQueue.main.underlyingQueue = .global()
            }
            expect(main, says: "OperationQueue.main.underlyingQueue cannot be changed")
            let late = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let queue = OperationQueue()
                queue.isSuspended = true
                queue.addOperation {}
                queue.underlyingQueue = .global()
            }
            expect(late, says: "OperationQueue.underlyingQueue was set while operations are in the queue")
        }

        @Test("a target that runs on libdispatch, once the queue is made")
        func foreignTarget() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchQueue(label: "journal", attributes: .initiallyInactive).setTarget(queue: .main)
            }
            expect(result, says: "DispatchQueue.setTarget(queue:) of \"journal\" to \"com.apple.main-thread\", which runs on libdispatch")
        }

        @Test("less than no iterations, and events of a process that nothing watches")
        func arguments() async {
            let iterations = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                DispatchQueue.concurrentPerform(iterations: -1) { _ in }
            }
            expect(iterations, says: "concurrentPerform(iterations: -1): choose 0 or more")
            let events = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = DispatchSource.makeProcessSource(identifier: 1, eventMask: [])
            }
            expect(events, says: "only .exit can be watched on Linux")
        }
    }
}
