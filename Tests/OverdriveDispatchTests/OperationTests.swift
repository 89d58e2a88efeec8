import Foundation
import OverdriveCore
import TestSupport
import Testing

@testable import OverdriveDispatch

/// An operation as programs write them that finish later: with states of their own, announced by name.
private final class LateOperation: Operation, @unchecked Sendable {
    private let state = Box("ready")
    private let work: @Sendable (LateOperation) -> Void
    private let keyPaths: Bool

    init(keyPaths: Bool = false, _ work: @escaping @Sendable (LateOperation) -> Void) {
        self.keyPaths = keyPaths
        self.work = work
    }

    private func become(_ new: String) {
        if keyPaths {
            willChangeValue(for: \.isExecuting)
            willChangeValue(for: \.isFinished)
            state.value = new
            didChangeValue(for: \.isExecuting)
            didChangeValue(for: \.isFinished)
        } else {
            willChangeValue(forKey: "isExecuting")
            willChangeValue(forKey: "isFinished")
            state.value = new
            didChangeValue(forKey: "isExecuting")
            didChangeValue(forKey: "isFinished")
        }
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.value == "executing" }
    override var isFinished: Bool { state.value == "finished" }

    override func start() {
        if isCancelled { return become("finished") }
        become("executing")
        work(self)
    }

    func finish() {
        become("finished")
    }
}

/// An operation that says itself when it is ready.
private final class GatedOperation: Operation, @unchecked Sendable {
    private let isOpen = Box(false)
    override var isReady: Bool { super.isReady && isOpen.value }

    func open(keyPath: Bool) {
        if keyPath {
            willChangeValue(for: \.isReady)
            isOpen.value = true
            didChangeValue(for: \.isReady)
        } else {
            willChangeValue(forKey: "isReady")
            isOpen.value = true
            didChangeValue(forKey: "isReady")
        }
    }
}

extension DropIn {
    @Suite("Operation and OperationQueue")
    struct Operations {
        private let queue = OperationQueue()

        @Test("counts operations, and forgets those that have finished")
        func count() {
            #expect(queue.operationCount == 0)
            queue.isSuspended = true
            for _ in 0..<10 { queue.addOperation {} }
            #expect(queue.operationCount == 10)
            #expect(queue.operations.count == 10)
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(queue.operationCount == 0)
            weak var gone: Operation?
            do {
                let op = BlockOperation {}
                gone = op
                queue.addOperations([op], waitUntilFinished: true)
            }
            #expect(eventually { gone == nil })
        }

        @Test("an operation whose priority changes goes behind the others of its new priority, ready or not")
        func changedPriority() {
            func order(_ priorities: [Operation.QueuePriority], _ changes: [Operation.QueuePriority], first dependency: Int?) -> [Int] {
                let (queue, log) = (OperationQueue(), Log<Int>())
                queue.maxConcurrentOperationCount = 1
                queue.isSuspended = true
                let all = priorities.indices.map { number in BlockOperation { log.note(number) } }
                for (op, priority) in zip(all, priorities) { op.queuePriority = priority }
                if let dependency { all[0].addDependency(all[dependency]) }
                for op in all { queue.addOperation(op) }
                for priority in changes { all[0].queuePriority = priority }
                queue.isSuspended = false
                queue.waitUntilAllOperationsAreFinished()
                return log.all
            }
            // Each as Foundation has it.
            #expect(order([.veryHigh, .normal, .normal], [.normal], first: nil) == [1, 2, 0])
            #expect(order([.normal, .high, .high, .normal], [.high], first: nil) == [1, 2, 0, 3])
            #expect(order([.normal, .normal, .normal], [.high, .normal], first: nil) == [1, 2, 0])
            #expect(order([.normal, .normal, .normal], [.normal], first: nil) == [0, 1, 2])
            #expect(order([.high, .normal, .normal, .normal], [.normal], first: 1) == [1, 2, 3, 0])
        }

        @Test("a queue of one starts by priority, and in the order of adding among equals")
        func priorities() {
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let log = Log<String>()
            let added: [(Operation.QueuePriority, String)] = [
                (.veryLow, "e"), (.low, "d"), (.normal, "c1"), (.normal, "c2"), (.high, "b"), (.veryHigh, "a"),
            ]
            for (priority, name) in added {
                let op = BlockOperation { log.note(name) }
                op.queuePriority = priority
                queue.addOperation(op)
            }
            let late = BlockOperation { log.note("late") }
            queue.addOperation(late)
            late.queuePriority = .veryHigh
            let last = BlockOperation { log.note("last") }
            queue.addOperation(last)
            last.queuePriority = .veryHigh
            last.queuePriority = .veryLow
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["a", "late", "b", "c1", "c2", "d", "e", "last"])
        }

        @Test("among equals the one that was added first starts first, though it was ready last")
        func readyLater() {
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let (log, before) = (Log<String>(), BlockOperation {})
            let first = BlockOperation { log.note("first") }
            first.addDependency(before)
            queue.addOperation(first)
            queue.addOperation { log.note("second") }
            before.start()
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["first", "second"])
        }

        @Test("without a limit too the most important of those that are ready starts first")
        func prioritiesUnlimited() {
            let line = DispatchQueue(label: "one at a time")
            queue.underlyingQueue = line
            line.suspend()
            let log = Log<Int>()
            for priority in [Operation.QueuePriority.low, .normal, .veryHigh] {
                let op = BlockOperation { log.note(priority.rawValue) }
                op.queuePriority = priority
                queue.addOperation(op)
            }
            line.resume()
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == [8, 0, -4])
        }

        @Test("none begins once the queue is suspended, though its turn in the underlying queue comes")
        func suspendedBehindItsStart() {
            let line = DispatchQueue(label: "one at a time")
            queue.underlyingQueue = line
            line.suspend()
            let ran = Box(false)
            queue.addOperation { ran.value = true }
            queue.isSuspended = true
            line.resume()
            line.sync {}
            #expect(!ran.value)
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(ran.value)
        }

        @Test("an operation that finishes later holds its place until it says so", arguments: [false, true])
        func asynchronous(keyPaths: Bool) {
            queue.maxConcurrentOperationCount = 1
            let log = Log<String>()
            let began = DispatchSemaphore(value: 0)
            let op = LateOperation(keyPaths: keyPaths) { _ in began.signal() }
            op.completionBlock = { log.note("completed") }
            queue.addOperation(op)
            queue.addOperation { log.note("next") }
            began.wait()
            #expect(op.isExecuting)
            #expect(log.all == [])
            op.finish()
            queue.waitUntilAllOperationsAreFinished()
            #expect(op.isFinished)
            #expect(log.all.contains("next"))
        }

        @Test("an operation that finishes inside of start() finishes, also one that says so by the older name or says nothing")
        func synchronousFinish() {
            final class Told: Operation, @unchecked Sendable {
                let key: String?
                let isOver = Box(false)
                init(_ key: String?) { self.key = key }
                override var isFinished: Bool { isOver.value }
                override func start() {
                    isOver.value = true
                    if let key {
                        didChangeValue(forKey: key)
                        #expect(eventually { queueIsEmpty.value?() == true })  // before this returns, but not before it was added
                    }
                }
                let queueIsEmpty = Box<(() -> Bool)?>(nil)
            }
            for key in ["finished", nil] {
                let op = Told(key)
                op.queueIsEmpty.value = { [queue] in queue.operationCount == 0 }
                queue.addOperations([op], waitUntilFinished: true)
                #expect(eventually { queue.operationCount == 0 })
            }
            queue.addOperations((0..<20).map { _ in LateOperation { $0.finish() } }, waitUntilFinished: true)
            #expect(queue.operationCount == 0)
        }

        @Test("start() by hand runs here and now, once, and skips main() of a cancelled operation")
        func startByHand() {
            let runs = Counter()
            let op = BlockOperation { runs.add() }
            op.start()
            op.start()
            #expect(op.isFinished && runs.count == 1)
            op.cancel()
            #expect(!op.isCancelled)
            let cancelled = BlockOperation { runs.add() }
            cancelled.cancel()
            #expect(!cancelled.isFinished)
            cancelled.start()
            #expect(cancelled.isFinished && runs.count == 1)
        }

        @Test("dependencies order operations, across queues and added in any order")
        func dependencies() {
            let other = OperationQueue()
            let log = Log<String>()
            let a = BlockOperation { log.note("a") }
            let b = BlockOperation { log.note("b") }
            let c = BlockOperation { log.note("c") }
            c.addDependency(b)
            c.addDependency(b)
            b.addDependency(a)
            #expect(c.dependencies == [b])
            #expect(!c.isReady && a.isReady)
            queue.addOperation(c)
            other.addOperation(b)
            queue.addOperation(a)
            c.waitUntilFinished()
            #expect(log.all == ["a", "b", "c"])
            let d = BlockOperation { log.note("d") }
            d.addDependency(a)
            #expect(d.isReady)
            queue.addOperations([d], waitUntilFinished: true)
        }

        @Test("removing an unfinished dependency lets its dependent go")
        func removeDependency() {
            let never = Operation()
            let op = BlockOperation {}
            op.addDependency(never)
            queue.addOperation(op)
            #expect(!op.isReady)
            op.removeDependency(never)
            op.waitUntilFinished()
            #expect(op.dependencies == [])
        }

        @Test("a cancelled dependency that is run counts as finished, and its body is skipped")
        func cancelledDependency() {
            let log = Log<String>()
            let first = BlockOperation { log.note("first") }
            let second = BlockOperation { log.note("second") }
            second.addDependency(first)
            first.cancel()
            queue.addOperations([first, second], waitUntilFinished: true)
            #expect(log.all == ["second"])
        }

        @Test("a cancelled operation becomes ready at once, whatever it depends on")
        func cancelledIsReady() {
            let never = Operation()
            let op = BlockOperation { Issue.record("it was cancelled") }
            op.addDependency(never)
            let completed = DispatchSemaphore(value: 0)
            op.completionBlock = { completed.signal() }
            queue.addOperation(op)
            op.cancel()
            op.waitUntilFinished()
            completed.wait()
            #expect(op.isCancelled && op.isFinished)
        }

        @Test("an operation that was cancelled before it is given a dependency does not wait for that")
        func cancelledBeforeDependency() {
            let op = BlockOperation { Issue.record("it was cancelled") }
            op.cancel()
            op.addDependency(Operation())
            #expect(op.isReady)
            queue.addOperations([op], waitUntilFinished: true)
        }

        @Test("cancelling one of a ring lets the other two run")
        func ring() {
            let log = Log<String>()
            let ops = ["a", "b", "c"].map { name in BlockOperation { log.note(name) } }
            for index in 0..<3 { ops[index].addDependency(ops[(index + 1) % 3]) }
            for op in ops { queue.addOperation(op) }
            #expect(queue.operationCount == 3)
            ops[0].cancel()
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["c", "b"])
        }

        @Test("cancelAllOperations reaches those that wait, those in a suspended queue, and those that run")
        func cancelAll() {
            queue.maxConcurrentOperationCount = 1
            let began = DispatchSemaphore(value: 0)
            let running = LateOperation { _ in began.signal() }
            let waiting = BlockOperation { Issue.record("it was cancelled") }
            queue.addOperations([running, waiting], waitUntilFinished: false)
            began.wait()
            queue.isSuspended = true
            queue.cancelAllOperations()
            #expect(running.isCancelled && waiting.isCancelled)
            #expect(!waiting.isFinished)
            running.finish()
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(waiting.isFinished)
        }

        @Test("cancelling one operation leaves the others")
        func cancelOne() {
            queue.isSuspended = true
            let runs = Log<Int>()
            let ops = (0..<5).map { number in BlockOperation { runs.note(number) } }
            for op in ops { queue.addOperation(op) }
            ops[2].cancel()
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(runs.all.sorted() == [0, 1, 3, 4])
        }

        @Test("an operation that says itself when it is ready runs then", arguments: [false, true])
        func ownReadiness(keyPath: Bool) {
            let op = GatedOperation()
            queue.addOperation(op)
            let other = BlockOperation {}
            queue.addOperations([other], waitUntilFinished: true)
            #expect(!op.isFinished)
            op.open(keyPath: keyPath)
            op.waitUntilFinished()
        }

        @Test("no more run at a time than the limit says; a limit of 0 holds all back")
        func limit() {
            queue.maxConcurrentOperationCount = 0
            let crowd = Crowd()
            for _ in 0..<60 { queue.addOperation { crowd.visit { usleep(200) } } }
            #expect(crowd.most == 0)
            queue.maxConcurrentOperationCount = 2
            queue.waitUntilAllOperationsAreFinished()
            #expect((1...2).contains(crowd.most))
            #expect(OperationQueue.defaultMaxConcurrentOperationCount == -1)
        }

        @Test("a barrier runs once, whatever is changed while it does")
        func barrierRunsOnce() {
            let (queue, gate, runs) = (OperationQueue(), Gate(), Counter())
            queue.addBarrierBlock {
                runs.add()
                gate.pass()
            }
            #expect(eventually { gate.arrivals == 1 })
            queue.maxConcurrentOperationCount = 2
            queue.addOperation { runs.add(10) }
            gate.open()
            queue.waitUntilAllOperationsAreFinished()
            #expect(runs.count == 11)
        }

        @Test("what was ready and is taken out is counted no more")
        func readyCount() {
            let operations = (0..<2).map { _ in BlockOperation {} }
            var ready = ReadyOperations()
            let stamps = operations.enumerated().map { ready.insert($1, $0, .normal) }
            ready.remove(stamps[0])
            #expect(ready.count == 1 && ready.takeFirst() === operations[1] && ready.count == 0)
        }

        @Test("a limit that is lowered holds for those whose turn in the underlying queue is still to come")
        func lowerLimit() {
            let under = DispatchQueue(label: "under a limit", attributes: .concurrent)
            queue.underlyingQueue = under
            under.suspend()
            let crowd = Crowd()
            for _ in 0..<60 { queue.addOperation { crowd.visit { usleep(200) } } }
            queue.maxConcurrentOperationCount = 1
            under.resume()
            queue.waitUntilAllOperationsAreFinished()
            #expect(crowd.most == 1)
        }

        @Test("an operation that says it has finished before its turn takes nobody's place")
        func finishedBeforeItsTurn() {
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let (early, next) = (LateOperation { _ in Issue.record("it had finished") }, BlockOperation {})
            queue.addOperations([early, next], waitUntilFinished: false)
            early.finish()
            queue.isSuspended = false
            #expect(eventually { next.isFinished })
        }

        @Test("all who wait for an operation go on when it has finished")
        func severalWait() {
            let (op, began, over) = (BlockOperation {}, Counter(), Counter())
            for _ in 0..<3 {
                Thread.detachNewThread {
                    began.add()
                    op.waitUntilFinished()
                    over.add()
                }
            }
            #expect(eventually { began.count == 3 })
            usleep(20_000)  // Mostly they wait then.
            op.start()
            #expect(eventually { over.count == 3 })
        }

        @Test("who waits for an operation finds it in its queue no more, however late they came")
        func lateWaiter() {
            final class Dependent: Operation, @unchecked Sendable {
                let (asked, gate) = (Counter(), Gate())
                override var isReady: Bool {
                    if dependencies.contains(where: \.isFinished) {
                        asked.add()
                        gate.pass()
                    }
                    return super.isReady
                }
            }
            let (op, dependent, began, found) = (BlockOperation {}, Dependent(), Counter(), Box<Bool?>(nil))
            dependent.addDependency(op)
            queue.addOperations([dependent, op], waitUntilFinished: false)
            #expect(eventually { dependent.asked.count == 1 })
            Thread.detachNewThread { [queue] in
                began.add()
                op.waitUntilFinished()
                found.value = queue.operations.contains { $0 === op }
            }
            #expect(eventually { began.count == 1 })
            usleep(20_000)  // Mostly it waits then.
            dependent.gate.open()
            #expect(eventually { found.value != nil } && found.value == false)
            queue.waitUntilAllOperationsAreFinished()
        }

        @Test("a barrier waits for what was added before and holds back what is added after, suspended or not")
        func barriers() {
            queue.isSuspended = true
            let log = Log<String>()
            queue.addBarrierBlock { log.note("first barrier") }
            for _ in 0..<5 { queue.addOperation { log.note("before") } }
            queue.addBarrierBlock { log.note("barrier") }
            let cancelled = BlockOperation { log.note("never") }
            cancelled.cancel()
            queue.addOperation(cancelled)
            for _ in 0..<5 { queue.addOperation { log.note("after") } }
            #expect(log.all == [])
            #expect(queue.operationCount == 11)
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(
                log.all == ["first barrier"] + Array(repeating: "before", count: 5) + ["barrier"]
                    + Array(repeating: "after", count: 5))
        }

        @Test("a barrier whose turn comes while the queue is suspended waits for its resumption")
        func suspendedBarriers() {
            let (under, log, gate) = (DispatchQueue(label: "under barriers"), Log<Int>(), Gate())
            queue.underlyingQueue = under
            let before = BlockOperation { gate.pass() }
            queue.addOperation(before)
            queue.addBarrierBlock { log.note(1) }
            #expect(eventually { gate.arrivals == 1 })
            queue.isSuspended = true
            gate.open()
            before.waitUntilFinished()
            under.sync {}
            #expect(log.all == [])
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == [1])
        }

        @Test("cancelAllOperations() keeps every barrier from running, and no later operation")
        func cancelledBarriers() {
            let (log, gate) = (Log<Int>(), Gate())
            queue.addOperation { gate.pass() }
            for number in 1...2 {
                queue.addBarrierBlock { log.note(number) }
                queue.addOperation { Issue.record("it was cancelled") }
            }
            #expect(eventually { gate.arrivals == 1 })
            queue.cancelAllOperations()
            queue.addOperation { log.note(3) }
            gate.open()
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == [3])
        }

        @Test("the blocks of a BlockOperation run at the same time, each once")
        func blocks() {
            let meeting = DispatchGroup()
            let op = BlockOperation()
            for _ in 0..<4 {
                meeting.enter()
                op.addExecutionBlock {
                    // Each waits for all.
                    meeting.leave()
                    meeting.wait()
                }
            }
            #expect(op.executionBlocks.count == 4)
            queue.addOperations([op], waitUntilFinished: true)
            let empty = BlockOperation()
            queue.addOperations([empty], waitUntilFinished: true)
            let (seen, twofold) = (Log<TaskQueue.QoS?>(), BlockOperation {})
            twofold.addExecutionBlock { seen.note(.current) }
            DispatchQueue.global(qos: .userInitiated).sync { twofold.start() }
            #expect(seen.all == [.userInitiated])
        }

        @Test("the current queue is the one that started the operation; main is one object")
        func current() async {
            let seen = Box<OperationQueue?>(nil)
            let op = BlockOperation { [queue] in
                seen.value = OperationQueue.current
                queue.cancelAllOperations()
            }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                op.completionBlock = { continuation.resume() }
                queue.addOperation(op)
            }
            #expect(seen.value === queue)
            seen.value = nil
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                queue.addBarrierBlock {
                    seen.value = OperationQueue.current
                    continuation.resume()
                }
            }
            #expect(seen.value === queue)
            #expect(OperationQueue.main === OperationQueue.main)
            OperationQueue.main.isSuspended = true
            OperationQueue.main.maxConcurrentOperationCount = 4
            #expect(!OperationQueue.main.isSuspended && OperationQueue.main.maxConcurrentOperationCount == 1)
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                DispatchQueue.main.async {
                    #expect(OperationQueue.current === OperationQueue.main)
                    continuation.resume()
                }
            }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                OperationQueue.main.addOperation {
                    #expect(OperationQueue.current === OperationQueue.main)
                    dispatchPrecondition(condition: .onQueue(.main))
                    continuation.resume()
                }
            }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                OperationQueue.main.addBarrierBlock {
                    dispatchPrecondition(condition: .onQueue(.main))
                    continuation.resume()
                }
            }
        }

        @Test("an underlying queue runs the operations, until it is taken away")
        func underlying() {
            let line = DispatchQueue(label: "underlying")
            let key = DispatchSpecificKey<Int>()
            line.setSpecific(key: key, value: 42)
            queue.underlyingQueue = line
            let seen = Box<Int?>(nil)
            queue.addOperations([BlockOperation { seen.value = DispatchQueue.getSpecific(key: key) }], waitUntilFinished: true)
            #expect(seen.value == 42)
            queue.waitUntilAllOperationsAreFinished()
            queue.underlyingQueue = nil
            queue.addOperations([BlockOperation { seen.value = DispatchQueue.getSpecific(key: key) }], waitUntilFinished: true)
            #expect(seen.value == nil)
        }

        @Test("a queue goes when it is drained and let go, also when its operations were cancelled")
        func lifecycle() {
            weak var gone: OperationQueue?
            let started = DispatchSemaphore(value: 0)
            let first = BlockOperation { started.signal() }  // kept longer than the queue
            do {
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 1
                gone = queue
                let second = BlockOperation {}
                second.addDependency(first)
                queue.addOperation(second)
                queue.addOperation(first)
            }
            started.wait()
            #expect(eventually { gone == nil } && first.isFinished)
        }

        @Test("the completion block is called once, and let go")
        func completion() {
            let census = Census()
            let op = BlockOperation {}
            let called = DispatchSemaphore(value: 0)
            do {
                let tracked = census.newborn()
                op.completionBlock = {
                    tracked.touch()
                    called.signal()
                }
            }
            queue.addOperation(op)
            called.wait()
            #expect(eventually { census.alive == 0 })
            #expect(op.completionBlock == nil)
        }

        @Test("progress counts once it has a total")
        func progress() {
            #expect(queue.progress.totalUnitCount == 0)
            queue.addOperations([BlockOperation {}], waitUntilFinished: true)
            queue.waitUntilAllOperationsAreFinished()
            #expect(queue.progress.completedUnitCount == 0)
            queue.progress.totalUnitCount = 4
            for _ in 0..<4 { queue.addOperation {} }
            queue.waitUntilAllOperationsAreFinished()
            #expect(queue.progress.completedUnitCount == 4)
            #expect(queue.progress.fractionCompleted == 1)
        }

        @Test("names, quality of service and descriptions can be overridden as on Foundation's")
        func attributes() {
            final class Named: Operation, @unchecked Sendable {
                override var description: String { "a named one" }
            }
            let op = Named()
            op.name = "op"
            op.qualityOfService = .utility
            #expect("\(op)" == "a named one" && op.name == "op" && op.qualityOfService == .utility)
            queue.name = "queue"
            queue.qualityOfService = .background
            #expect(queue.name == "queue" && queue.qualityOfService == .background)
            let seen = Log<TaskQueue.QoS?>()
            for quality in [nil, QualityOfService.utility, .userInitiated] {
                let block = BlockOperation { seen.note(.current) }
                if let quality { block.qualityOfService = quality }
                queue.addOperations([block], waitUntilFinished: true)
            }
            #expect(seen.all == [.background, .utility, .userInitiated])
        }

        @Test("ten thousand operations, each with a dependency, run once")
        func many() {
            let runs = Counter()
            var last: Operation?
            queue.isSuspended = true
            for number in 0..<10_000 {
                let op = BlockOperation { runs.add() }
                if number % 100 != 0, let last { op.addDependency(last) }
                last = op
                queue.addOperation(op)
            }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(runs.count == 10_000)
        }

        @Test("an operation waits for a dependency that was added after its addOperation(_:)", arguments: [true, false])
        func lateDependency(isSuspended: Bool) {
            let (log, gate, other) = (Log<String>(), DispatchSemaphore(value: 0), OperationQueue())
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = isSuspended
            if !isSuspended { queue.addOperation { gate.wait() } }
            let (needed, late) = (BlockOperation { log.note("needed") }, BlockOperation { log.note("late") })
            queue.addOperation(late)
            queue.addOperation { log.note("beside") }
            late.addDependency(needed)
            #expect(!late.isReady)
            queue.isSuspended = false
            gate.signal()
            #expect(eventually { log.all == ["beside"] })
            other.addOperation(needed)
            queue.waitUntilAllOperationsAreFinished()
            #expect(log.all == ["beside", "needed", "late"])
        }

        @Test("an operation does not start while an overridden isReady has turned false again")
        func readyNoLonger() {
            let log = Log<String>()
            final class Flip: Operation, @unchecked Sendable {
                let isOpen = Box(true)
                override var isReady: Bool { isOpen.value && super.isReady }
                func turn(_ isOpen: Bool) {
                    willChangeValue(forKey: "isReady")
                    self.isOpen.value = isOpen
                    didChangeValue(forKey: "isReady")
                }
            }
            let flip = Flip()
            flip.completionBlock = { log.note("flip") }
            queue.isSuspended = true
            queue.addOperation(flip)
            flip.turn(false)
            queue.isSuspended = false
            queue.addOperations([BlockOperation { log.note("beside") }], waitUntilFinished: true)
            #expect(log.all == ["beside"])
            flip.turn(true)
            #expect(eventually { log.all == ["beside", "flip"] })
        }

        @Test("a Swift task that an operation leaves behind is in no operation, and may wait for the queue")
        func taskLeftBehind() {
            let (seen, done, queue) = (Log<Bool>(), DispatchSemaphore(value: 0), queue)
            @Sendable func look() { seen.note(OperationQueue.current === queue) }
            @Sendable func flush() { queue.waitUntilAllOperationsAreFinished() }
            queue.addOperation {
                look()
                Task {
                    look()
                    flush()
                    done.signal()
                }
            }
            #expect(done.wait(timeout: .now() + 60) == .success)
            #expect(seen.all == [true, false])
        }

        @Test("progress leaves out operations that were cancelled before their start")
        func progressOfCancelled() {
            queue.progress.totalUnitCount = 5
            queue.isSuspended = true
            let cancelled = BlockOperation {}
            for op in [BlockOperation {}, cancelled, BlockOperation {}] { queue.addOperation(op) }
            cancelled.cancel()
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(queue.progress.completedUnitCount == 2)
        }

        @Test("a queue without a name is called by its address")
        func defaultName() {
            #expect(queue.name?.hasPrefix("NSOperationQueue 0x") == true)
            #expect(queue.name == queue.name && queue.name != OperationQueue().name)
        }

        @Test("a chain of 200,000 operations is freed without recursion")
        func longChain() {
            weak var first: Operation?
            do {
                var last = Operation()
                first = last
                for _ in 0..<200_000 {
                    let next = Operation()
                    next.addDependency(last)
                    last = next
                }
            }
            #expect(first == nil)
        }

        @Test("priorities, dependencies and barriers of 50,000 operations cost no time that grows with their square")
        func notQuadratic() {
            let count = 50_000
            let start = ContinuousClock.now
            queue.isSuspended = true
            let operations = (0..<count).map { _ in BlockOperation {} }
            for op in operations { queue.addOperation(op) }
            for op in operations.reversed() { op.queuePriority = .high }
            let last = BlockOperation {}
            for op in operations { last.addDependency(op) }
            for op in operations.dropFirst(count / 2) { last.removeDependency(op) }
            #expect(last.dependencies.count == count / 2 && last.dependencies.first === operations[0])
            for _ in 0..<count { queue.addBarrierBlock {} }
            queue.addOperation(last)
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
            #expect(last.isFinished)
            // One second alone; with quadratic steps more than a minute.
            #expect(ContinuousClock.now - start < .seconds(30))
        }
    }
}
