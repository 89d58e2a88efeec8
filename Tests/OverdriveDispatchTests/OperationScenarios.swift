import Foundation
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    /// What swift-corelibs-foundation's tests do with operation queues, as far as `Operations` has nothing of the kind;
    /// README.md in this folder says which is which.
    @Suite("Foundation's scenarios")
    struct OperationScenarios {
        private let queue = OperationQueue()

        @Test("isExecutingWorks: an operation executes in its block, and neither before nor after")
        func isExecuting() {
            let inside = Box(false)
            let itself = Box<Operation?>(nil)
            let op = BlockOperation { inside.value = itself.value?.isExecuting == true }
            itself.value = op
            #expect(!op.isExecuting)
            queue.addOperation(op)
            queue.waitUntilAllOperationsAreFinished()
            #expect(inside.value)
            #expect(!op.isExecuting)
            #expect(op.isFinished)
            itself.value = nil
        }

        @Test("CancelOperationsOfSpecificQueuePriority: those of one priority are cancelled while another one runs")
        func cancelByPriority() {
            let log = Log<Int>()
            let mayEnd = DispatchSemaphore(value: 0)
            let began = DispatchSemaphore(value: 0)
            let operations = (0..<5).map { number in
                let op = BlockOperation {
                    log.note(number)
                    began.signal()
                    mayEnd.wait()
                }
                op.queuePriority = number < 2 ? .high : .normal
                return op
            }
            queue.maxConcurrentOperationCount = 1
            queue.addOperations(operations, waitUntilFinished: false)
            began.wait()
            for op in operations where op.queuePriority == .normal { op.cancel() }
            for _ in operations { mayEnd.signal() }
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == [0, 1])
            #expect(operations.map(\.isFinished) == operations.map { _ in true })
        }

        @Test("CurrentQueueOnBackgroundQueueWithSelfCancel: an operation cancels its own queue's operations, itself too")
        func selfCancel() {
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            let after = Counter()
            let (sawItself, told) = (Box(false), DispatchSemaphore(value: 0))
            queue.isSuspended = true
            queue.addOperation {
                sawItself.value = OperationQueue.current === queue
                queue.cancelAllOperations()
                told.signal()
            }
            queue.addOperation { after.add() }
            queue.isSuspended = false
            told.wait()
            queue.waitUntilAllOperationsAreFinished()
            #expect(sawItself.value)
            #expect(after.count == 0)
        }

        @Test("isSuspended: an operation queue and its underlying queue are held back independently")
        func suspended() {
            let line = DispatchQueue(label: "underlying")
            queue.maxConcurrentOperationCount = 1
            queue.underlyingQueue = line
            queue.isSuspended = true
            let log = Log<String>()
            queue.addOperation { log.note(OperationQueue.current?.underlyingQueue === line ? "operation" : "elsewhere") }
            line.sync { log.note("closure") }
            #expect(log.all == ["closure"])
            #expect(queue.isSuspended)
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["closure", "operation"])
        }

        @Test("OperationDependencyCount: a dependency is listed once, before it has finished and after")
        func dependencyCount() {
            let (first, second) = (BlockOperation {}, BlockOperation {})
            first.addDependency(second)
            first.addDependency(second)
            #expect(first.dependencies == [second])
            queue.addOperations([first, second], waitUntilFinished: true)
            #expect(first.dependencies == [second])
            first.removeDependency(second)
            #expect(first.dependencies.isEmpty)
        }

        @Test("Deadlock: in a queue of one, let go at once, an operation added first waits for one added second")
        func noDeadlock() {
            let log = Log<Int>()
            let done = DispatchGroup()
            done.enter()
            done.enter()
            func scene() {
                let (one, two) = (BlockOperation { log.note(1) }, BlockOperation { log.note(2) })
                one.addDependency(two)
                one.completionBlock = { done.leave() }
                two.completionBlock = { done.leave() }
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 1
                queue.addOperation(one)
                queue.addOperation(two)
            }
            scene()
            #expect(done.wait(timeout: .now() + 200) == .success)
            #expect(log.all == [2, 1])
        }

        @Test("CancelOutOfQueue: an operation in no queue is cancelled, and finishes when it is started")
        func cancelOutOfQueue() {
            let ran = Counter()
            let op = BlockOperation { ran.add() }
            op.cancel()
            #expect(op.isCancelled)
            #expect(!op.isExecuting)
            #expect(!op.isFinished)
            op.start()
            #expect(op.isFinished)
            #expect(ran.count == 0)
        }

        @Test("ExecutionOrder: an operation's dependency, added behind it, runs first, and another one beside them")
        func executionOrder() {
            let log = Log<String>()
            let (op, dependency) = (BlockOperation { log.note("op") }, BlockOperation { log.note("dependency") })
            op.addDependency(dependency)
            queue.addOperations([op, dependency], waitUntilFinished: false)
            let beside = DispatchSemaphore(value: 0)
            queue.addOperation { beside.signal() }
            #expect(beside.wait(timeout: .now() + 200) == .success)
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["dependency", "op"])
        }

        @Test("WaitUntilFinished, OperationWaitUntilFinished: of a queue that waits for another one, and of one operation")
        func waiting() {
            let other = OperationQueue()
            let mayEnd = DispatchSemaphore(value: 0)
            let slow = BlockOperation { mayEnd.wait() }
            let dependent = BlockOperation {}
            dependent.addDependency(slow)
            other.addOperation(slow)
            queue.addOperation(dependent)
            #expect(queue.operationCount == 1)
            onThread {
                Thread.sleep(forTimeInterval: 0.01)
                mayEnd.signal()
            }
            queue.waitUntilAllOperationsAreFinished()
            #expect(slow.isFinished)
            #expect(queue.operationCount == 0)
            let last = BlockOperation {}
            other.addOperation(last)
            last.waitUntilFinished()
            #expect(last.isFinished)
            #expect(eventually { other.operationCount == 0 })
        }

        @Test("ConcurrentOperations: of two at a time one waits for the other, again and again")
        func concurrent() {
            queue.maxConcurrentOperationCount = 2
            for _ in 0..<100 {
                let (met, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                queue.addOperation {
                    met.wait()
                    done.signal()
                }
                queue.addOperation { met.signal() }
                #expect(done.wait(timeout: .now() + 200) == .success)
            }
        }

        @Test("ConcurrentOperationsWithDependenciesAndCompletions: the same, with a dependency's turn and completion blocks")
        func concurrentWithCompletions() {
            queue.maxConcurrentOperationCount = 2
            for _ in 0..<100 {
                let (met, completed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                let order = Log<String>()
                let dependency = BlockOperation { order.note("dependency") }
                let op = BlockOperation {
                    met.wait()
                    order.note("op")
                }
                op.addDependency(dependency)
                op.completionBlock = {
                    order.note("completed")
                    completed.signal()
                }
                queue.addOperations([op, dependency], waitUntilFinished: false)
                queue.addOperation { met.signal() }
                #expect(completed.wait(timeout: .now() + 200) == .success)
                #expect(order.all == ["dependency", "op", "completed"])
            }
        }
    }
}
