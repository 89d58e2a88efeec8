import OverdriveCore
import Testing

@Suite("A work item", .timeLimit(.minutes(10)))
struct WorkItemTests {
    private let queue = TaskQueue(scheduler: makeScheduler())

    @Test("runs on a queue, once for each submission, and has ended then")
    func runs() async {
        let runs = Counter()
        let item = WorkItem { runs.add() }
        #expect(item.wait(timeout: .zero) == .timedOut)
        #expect(item.description == "WorkItem (not begun)")
        queue.async(execute: item)
        await item.wait()
        #expect(runs.count == 1)
        #expect(item.description == "WorkItem (ended)")
        for _ in 0..<99 { queue.async(execute: item) }
        await queue.drained()
        #expect(runs.count == 100)
        #expect(item.wait(timeout: .zero) == .success)
        #expect(item.wait(deadline: .now) == .success)
        #expect(!item.isCancelled)
    }

    @Test("performs on the calling thread, and is waited for any number of times")
    func performs() {
        let threads = Log<UInt>()
        let item = WorkItem { threads.note(threadIdentity()) }
        onThreads(1) { _ in
            item.perform()
            #expect(threads.all == [threadIdentity()])
            item.wait()
            item.wait()
            item.perform()
            item.wait()
            #expect(threads.all.count == 2)
        }
    }

    @Test("runs in sync on the calling thread, in the queue's order")
    func sync() {
        let serial = TaskQueue.serial(scheduler: makeScheduler())
        let order = Log<Int>()
        let here = Log<Bool>()
        onThreads(1) { _ in
            let me = threadIdentity()
            let item = WorkItem {
                order.note(100)
                here.note(threadIdentity() == me)
            }
            for number in 0..<100 { serial.async { order.note(number) } }
            serial.sync(execute: item)
        }
        #expect(order.all == Array(0...100))
        #expect(here.all == [true])
    }

    @Test("is counted by its group")
    func group() {
        let group = WaitGroup()
        let runs = Counter()
        let items = (0..<50).map { _ in WorkItem { runs.add() } }
        for item in items { queue.async(group: group, execute: item) }
        group.wait()
        #expect(runs.count == 50)
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

    @Test("cancelled before its turn never runs, has ended at once, and its group is done with it")
    func cancelledBefore() {
        let (started, gate) = (Gate(), Gate())
        let serial = TaskQueue.serial(scheduler: makeScheduler(workers: 1))
        serial.async {
            started.open()
            gate.pass()
        }
        started.pass()
        let runs = Counter()
        let item = WorkItem { runs.add() }
        let group = WaitGroup()
        let notified = Counter()
        serial.async(group: group, execute: item)
        item.notify(on: queue) { notified.add() }
        item.cancel()
        #expect(item.isCancelled)
        #expect(item.wait(timeout: .zero) == .success)
        #expect(eventually { notified.count == 1 })
        #expect(group.wait(timeout: .zero) == .timedOut)
        gate.open()
        #expect(group.wait(timeout: .seconds(20)) == .success)
        #expect(runs.count == 0)
        #expect(notified.count == 1)
        #expect(item.description == "WorkItem (cancelled, ended)")
    }

    @Test("cancelled and never submitted has ended too: nobody waits for ever")
    func cancelledUnsubmitted() {
        let item = WorkItem { Issue.record("a cancelled item ran") }
        item.cancel()
        item.cancel()
        item.wait()
        item.perform()
        queue.async(execute: item)
        queue.sync(execute: item)
        queue.waitUntilAllTasksAreFinished()
        let notified = WaitGroup()
        notified.enter()
        item.notify(on: queue) { notified.leave() }
        #expect(notified.wait(timeout: .seconds(20)) == .success)
    }

    @Test("cancelled after its first run does not run again, and stays ended")
    func cancelledLater() {
        let runs = Counter()
        let item = WorkItem { runs.add() }
        item.perform()
        item.cancel()
        item.perform()
        queue.async(execute: item)
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == 1)
        #expect(item.isCancelled)
        item.wait()
    }

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
    @Test("is not cancelled by its queue's cancelAll() once its run there is over")
    func cancelledAfterwards() {
        let seen = Log<Bool>()
        let holder = Holder<WorkItem?>(nil)
        let item = WorkItem { seen.note(holder.value?.isCancelled ?? true) }
        holder.value = item
        queue.async(execute: item)
        queue.waitUntilAllTasksAreFinished()
        queue.cancelAll()
        item.perform()
        queue.async(execute: item)
        queue.waitUntilAllTasksAreFinished()
        #expect(seen.all == [false, false, false])
        #expect(item.description == "WorkItem (ended)")
        holder.value = nil
    }

    /// Only the run that had begun last was looked at.
    @Test("running on two queues is cancelled by either one's cancelAll()", arguments: [0, 1])
    func cancelledOnOneOfTwo(number: Int) {
        let queues = (0..<2).map { _ in TaskQueue(scheduler: makeScheduler()) }
        let (inside, gate) = (Counter(), Gate())
        let item = WorkItem {
            inside.add()
            gate.pass()
        }
        for (begun, queue) in queues.enumerated() {
            queue.async(execute: item)
            #expect(eventually { inside.count == begun + 1 })
        }
        queues[number].cancelAll()
        #expect(item.isCancelled)
        gate.open()
        for queue in queues { queue.waitUntilAllTasksAreFinished() }
        #expect(item.isCancelled)
    }

    @Test("let go before it ever began makes its notifications")
    func letGo() {
        let notified = Counter()
        for _ in 0..<20 {
            let item = WorkItem { Issue.record("it was never submitted") }
            item.notify(on: queue) { notified.add() }
        }
        #expect(eventually { notified.count == 20 })
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
        let (gate, runs) = (Gate(), Counter())
        let item = WorkItem { runs.add() }
        holder.value?.async { gate.pass() }
        holder.value?.async(execute: item)
        onThreads(2) { thread in
            if thread == 0 {
                #expect(item.wait(timeout: .seconds(20)) == .success)
            } else {
                // So that the other one waits; where it does not yet, there is nothing to be seen.
                let never = WaitGroup()
                never.enter()
                _ = never.wait(timeout: .milliseconds(20))
                never.leave()
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
        #expect(item.wait(timeout: .milliseconds(5)) == .timedOut)
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

    @Test("cancelled while it starts either runs or does not, and ends once")
    func race() {
        for _ in 0..<500 {
            let (runs, notified) = (Counter(), Counter())
            let item = WorkItem { runs.add() }
            item.notify(on: queue) { notified.add() }
            onThreads(2) { thread in
                if thread == 0 { queue.async(execute: item) } else { item.cancel() }
            }
            item.wait()
            queue.waitUntilAllTasksAreFinished()
            #expect(runs.count <= 1)
            #expect(eventually { notified.count == 1 })
        }
    }

    // MARK: - Notifications

    @Test("notifies each who asked, in order, after the first run and not again")
    func notifies() {
        let serial = TaskQueue.serial(scheduler: makeScheduler())
        let order = Log<Int>()
        let item = WorkItem { order.note(-1) }
        for number in 0..<10 { item.notify(on: serial) { order.note(number) } }
        queue.async(execute: item)
        #expect(eventually { order.all.count == 11 })
        #expect(order.all == Array(-1..<10))
        item.perform()
        item.notify(on: serial) { order.note(10) }
        #expect(eventually { order.all.count == 13 })
        #expect(order.all == Array(-1..<10) + [-1, 10])
    }

    @Test("is what an item or a group notifies with", arguments: [false, true])
    func items(cancelled: Bool) {
        let runs = Counter()
        let follower = WorkItem { runs.add() }
        let last = WorkItem { runs.add() }
        let first = WorkItem { runs.add() }
        let group = WaitGroup()
        group.enter()
        first.notify(on: queue, execute: follower)
        group.notify(on: queue, execute: last)
        if cancelled { follower.cancel() }
        first.perform()
        follower.wait()
        #expect(last.wait(timeout: .zero) == .timedOut)
        group.leave()
        last.wait()
        #expect(runs.count == (cancelled ? 2 : 3))
    }

    @Test("releases what it captured with its last reference")
    func captures() {
        let census = Census()
        do {
            let tracked = census.newborn()
            let item = WorkItem { tracked.touch() }
            queue.async(execute: item)
            queue.async(execute: item)
            item.notify(on: queue) { tracked.touch() }
            item.wait()
        }
        queue.waitUntilAllTasksAreFinished()
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 1)
    }
}
