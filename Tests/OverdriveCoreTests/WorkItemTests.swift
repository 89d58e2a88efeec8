import OverdriveCore
import Testing

@Suite("A work item", .timeLimit(.minutes(10)))
struct WorkItemTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("runs on a queue, once for each submission, and has ended then")
    func runs() async {
        let runs = Counter()
        let item = WorkItem { runs.add() }
        #expect(await item.wait(timeout: .zero) == .timedOut)
        #expect(item.description == "WorkItem (not begun)")
        queue.async(execute: item)
        await item.wait()
        #expect(runs.count == 1)
        #expect(item.description == "WorkItem (ended)")
        for _ in 0..<99 { queue.async(execute: item) }
        await queue.drained()
        #expect(runs.count == 100)
        #expect(await item.wait(timeout: .zero) == .success)
        #expect(await item.wait(deadline: .now) == .success)
        #expect(!item.isCancelled)
    }

    @Test("raises its closure above the queue, as its quality of service says")
    func qos() {
        let seen = Log<TaskQueue.QoS?>()
        let high = WorkItem(qos: .userInteractive) { seen.note(.current) }
        let low = WorkItem(qos: .background) { seen.note(.current) }
        queue.async(execute: high)
        queue.waitUntilAllTasksAreFinished()
        queue.async(execute: low)
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [.userInteractive, .default])
        #expect(high.qos == .userInteractive)
    }

    // MARK: - Cancelled before it runs

    @Test("taken back by its queue is cancelled, and has ended")
    func takenBack() {
        let suspended = TaskQueue(scheduler: makeScheduler())
        suspended.suspend()
        let census = Census()
        let item: WorkItem = {
            let tracked = census.newborn()
            return WorkItem { tracked.touch() }
        }()
        let group = WaitGroup()
        suspended.async(group: group, execute: item)
        #expect(suspended.cancelAll() == 1)
        item.wait()
        #expect(item.isCancelled)
        #expect(group.wait(timeout: .seconds(20)) == .success)
        suspended.resume()
    }

    /// It was, for the run behind it.
    @Test("is not cancelled by its queue's cancelAll() once its runs there are over, two at the same time")
    func cancelledAfterwards() {
        let (gate, seen) = (Gate(), Log<Bool>())
        let holder = Holder<WorkItem?>(nil)
        let item = WorkItem {
            gate.pass()
            seen.note(holder.value?.isCancelled ?? true)
        }
        holder.value = item
        for _ in 0..<2 { queue.async(execute: item) }
        #expect(eventually { gate.arrivals == 2 })
        gate.open()
        queue.waitUntilAllTasksAreFinished()
        queue.cancelAll()
        item.perform()
        queue.async(execute: item)
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [false, false, false, false])
        #expect(item.description == "WorkItem (ended)")
        holder.value = nil
    }

    /// Only the run that had begun last was looked at.
    @Test("running on two queues is cancelled by either one's cancelAll()", arguments: [0, 1])
    func cancelledOnOneOfTwo(number: Int) {
        let queues = (0..<2).map { _ in TaskQueue(scheduler: makeScheduler()) }
        let gate = Gate()
        let item = WorkItem { gate.pass() }
        for (begun, queue) in queues.enumerated() {
            queue.async(execute: item)
            #expect(eventually { gate.arrivals == begun + 1 })
        }
        queues[number].cancelAll()
        #expect(item.isCancelled)
        gate.open()
        for queue in queues { queue.waitUntilAllTasksAreFinished() }
        #expect(item.isCancelled)
    }

    /// What was left of that run was taken for one that goes on.
    @Test("running on two queues is not cancelled by the cancelAll() of one on which its run is over", arguments: [0, 1])
    func cancelledWhereItIsOver(number: Int) {
        let queues = (0..<2).map { _ in TaskQueue(scheduler: makeScheduler()) }
        let (gates, begun) = ([Gate(), Gate()], Counter())
        let item = WorkItem { gates[begun.add() - 1].pass() }
        for (gate, queue) in zip(gates, queues) {
            queue.async(execute: item)
            #expect(eventually { gate.arrivals == 1 })
        }
        gates[number].open()
        queues[number].waitUntilAllTasksAreFinished()
        queues[number].cancelAll()
        #expect(!item.isCancelled)
        gates[1 - number].open()
        queues[1 - number].waitUntilAllTasksAreFinished()
        #expect(!item.isCancelled)
    }

    @Test("that is let go of before it ran has ended for those that are notified")
    func letGo() {
        let told = Counter()
        WorkItem {}.notify(on: queue) { told.add() }
        #expect(eventually { told.count == 1 })
    }

    @Test("submitted for later runs then, unless it or its timer is cancelled")
    func later() {
        let runs = Counter()
        let (runs1, cancelled, ended) = (WorkItem { runs.add() }, WorkItem { runs.add() }, WorkItem { runs.add() })
        queue.asyncAfter(.milliseconds(5), execute: runs1)
        let timer = queue.asyncAfter(.seconds(3_600), execute: ended)
        queue.asyncAfter(deadline: .now + .milliseconds(5), execute: cancelled)
        cancelled.cancel()
        timer.cancel()
        runs1.wait()
        cancelled.wait()
        queue.asyncAfter(.zero, execute: runs1)
        #expect(eventually { runs.count == 2 })
    }

    @Test("waited for keeps no queue that is suspended and let go meanwhile")
    func waitKeepsNoQueue() {
        let holder = Holder<TaskQueue?>(TaskQueue.serial(scheduler: makeScheduler()))
        let (gate, waiter, runs) = (Gate(), Log<String>(), Counter())
        let item = WorkItem { runs.add() }
        holder.value?.async { gate.pass() }
        holder.value?.async(execute: item)
        onThreads(2) { thread in
            if thread == 0 {
                waiter.note(thisThread())
                #expect(item.wait(timeout: .seconds(20)) == .success)
            } else {
                #expect(eventually { waiter.all.count == 1 })
                #expect(comesToRest(Set(waiter.all)))
                holder.value?.suspend()
                holder.value = nil
                gate.open()
            }
        }
        #expect(runs.count == 1)
    }

    // MARK: - Cancelled while it runs

    @Test("cancelled while it runs is told, and ends with its run")
    func cancelledWhileRunning() {
        let (started, gate) = (Gate(), Gate())
        let seen = Log<Bool>()
        let item = WorkItem {
            seen.note(Cancellation.isRequested)
            started.open()
            gate.pass()
            seen.note(Cancellation.isRequested)
            do {
                try Cancellation.check()
            } catch {
                seen.note(error is CancellationError)
            }
        }
        queue.async(execute: item)
        started.pass()
        item.cancel()
        #expect(item.isCancelled)
        #expect(item.wait(timeout: .zero) == .timedOut)
        #expect(item.description == "WorkItem (running, cancelled)")
        gate.open()
        item.wait()
        #expect(seen.all == [false, true, true])
        queue.async { seen.note(Cancellation.isRequested) }
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [false, true, true, false])
    }

    @Test("cancelled by itself ends")
    func cancelsItself() {
        let holder = Holder<WorkItem?>(nil)
        let item = WorkItem { holder.value?.cancel() }
        holder.value = item
        queue.async(execute: item)
        item.wait()
        #expect(item.isCancelled)
        holder.value = nil
    }

    @Test("wait_returns_after_the_worker_has_released_the_item")
    func itemIsReleased() async {
        let census = Census()
        func item() -> WorkItem {
            let tracked = census.newborn()
            return WorkItem { tracked.touch() }
        }
        func waitBlocking() {
            let item = item()
            queue.async(execute: item)
            item.wait()
        }
        for _ in 0..<300 {
            await {
                let item = item()
                queue.async(execute: item)
                await item.wait()
            }()
            #expect(census.alive == 0)
            waitBlocking()
            #expect(census.alive == 0)
        }
    }
}
