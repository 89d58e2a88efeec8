import OverdriveCore
import OverdriveTesting

/// A concurrent program with one mistake, and the place where a switch of threads exposes it.
struct ClassicBug: Sendable, CustomStringConvertible {
    let name: String
    /// The scheduling point at which another thread must act.
    let point: String
    var kind = ScheduleFailure.Kind.failed
    let body: @Sendable (Scheduler, Control) throws -> Void

    var description: String { name }

    /// Runs all closures at once and waits for them.
    private static func together(_ scheduler: Scheduler, _ closures: (@Sendable () -> Void)...) {
        let (queue, group) = (TaskQueue(scheduler: scheduler), WaitGroup())
        for closure in closures { queue.async(group: group, execute: closure) }
        group.wait()
    }

    static let all = [lostUpdate, opposedLocks, missedSignal, barrierMisuse, starvedWriter] + [
        useAfterCancel, reentrancy, doubleRetry, assumedOrder, doubleChecked, waitForItself, lateEnter, checkThenAct, reusedNode,
        splitCount, wokenByAnother, submittedAfterClose, forgottenSignal, tornTransfer, doubleDebounce,
    ]

    static let lostUpdate = ClassicBug(name: "lost update", point: "the store after the load of the other thread") { scheduler, control in
        let count = ControlledAtomic(0)
        together(scheduler, { count.store(count.load() + 1) }, { count.store(count.load() + 1) })
        control.check(count.load() == 2)
    }

    static let opposedLocks = ClassicBug(name: "locks in opposed orders", point: "the second lock", kind: .deadlock) { scheduler, _ in
        let (one, other) = (ControlledMutex(100), ControlledMutex(100))
        together(
            scheduler, { one.withLock { from in other.withLock { to in (from, to) = (from - 1, to + 1) } } },
            { other.withLock { from in one.withLock { to in (from, to) = (from - 1, to + 1) } } })
    }

    static let missedSignal = ClassicBug(
        name: "missed signal", point: "between the test of the flag and the note that somebody waits", kind: .deadlock
    ) { scheduler, _ in
        let (ready, waits, bell) = (ControlledAtomic(false), ControlledAtomic(false), CountingSemaphore(value: 0))
        together(
            scheduler,
            {
                guard !ready.load() else { return }
                waits.store(true)
                bell.wait()
            },
            {
                ready.store(true)
                if waits.load() { bell.signal() }
            })
    }

    static let barrierMisuse = ClassicBug(name: "a write without a barrier", point: "between the two stores") { scheduler, control in
        let (width, height) = (ControlledAtomic(1), ControlledAtomic(1))
        let queue = TaskQueue(scheduler: scheduler)
        queue.async {
            width.store(2)
            height.store(2)
        }
        queue.sync { control.check(width.load() == height.load(), "the size is torn") }
        queue.sync(flags: .barrier) {}
    }

    static let starvedWriter = ClassicBug(name: "a starved writer", point: "each try of the writer, while readers overlap") { scheduler, control in
        let (readers, wrote) = (ControlledAtomic(0), ControlledAtomic(false))
        let read: @Sendable () -> Void = {
            for _ in 0..<4 {
                readers.add(1)
                control.schedulingPoint()
                readers.subtract(1)
            }
        }
        let write: @Sendable () -> Void = {
            for _ in 0..<4 where readers.load() == 0 { return wrote.store(true) }
        }
        together(scheduler, read, write)
        control.check(wrote.load(), "the writer gives up")
    }

    static let useAfterCancel = ClassicBug(name: "use after cancel", point: "the timer's closure, begun before the cancel") { scheduler, control in
        let open = ControlledAtomic(true)
        let queue = TaskQueue(scheduler: scheduler)
        let timer = queue.asyncAfter(.milliseconds(10)) {
            control.schedulingPoint()
            control.check(open.load(), "the closed file is written")
        }
        queue.asyncAfter(.milliseconds(10)) {
            timer.cancel()
            open.store(false)
        }
        control.sleep(for: .milliseconds(20))
        queue.sync(flags: .barrier) {}
    }

    static let reentrancy = ClassicBug(name: "a callback under a lock", point: "the lock of the callback", kind: .deadlock) { _, _ in
        let observers = ControlledMutex<[@Sendable () -> Void]>([])
        observers.withLock { $0.append { observers.withLock { $0.removeAll() } } }
        observers.withLock { for call in $0 { call() } }
    }

    static let doubleRetry = ClassicBug(name: "a retry that pays twice", point: "the end of the first try, after its timeout") { scheduler, control in
        let paid = ControlledAtomic(0)
        let queue = TaskQueue(scheduler: scheduler)
        for _ in 0..<2 {
            let answer = CountingSemaphore(value: 0)
            queue.async {
                control.sleep(for: .milliseconds(10))
                paid.add(1)
                answer.signal()
            }
            if answer.wait(timeout: .milliseconds(10)) == .success { break }
        }
        queue.sync(flags: .barrier) {}
        control.check(paid.load() == 1, "paid \(paid.load()) times")
    }

    static let assumedOrder = ClassicBug(name: "order assumed on a concurrent queue", point: "the begin of the first closure") { scheduler, control in
        let log = ControlledMutex<[Int]>([])
        together(scheduler, { log.withLock { $0.append(1) } }, { log.withLock { $0.append(2) } })
        control.check(log.withLock { $0 } == [1, 2])
    }

    static let doubleChecked = ClassicBug(name: "the flag before the value", point: "between the flag and the value") { scheduler, control in
        let (isReady, value) = (ControlledAtomic(false), ControlledAtomic(0))
        together(
            scheduler,
            {
                isReady.store(true)
                value.store(42)
            },
            { if isReady.load() { control.check(value.load() == 42, "the value is not there yet") } })
    }

    static let waitForItself = ClassicBug(name: "a wait for its own queue", point: "the wait of the serial queue's closure", kind: .deadlock) { scheduler, _ in
        let (queue, group, answer) = (TaskQueue.serial(scheduler: scheduler), WaitGroup(), CountingSemaphore(value: 0))
        queue.async(group: group) {
            queue.async { answer.signal() }
            answer.wait()
        }
        group.wait()
    }

    static let lateEnter = ClassicBug(name: "a group entered too late", point: "the begin of the closure") { scheduler, control in
        let (group, count) = (WaitGroup(), ControlledAtomic(0))
        let queue = TaskQueue(scheduler: scheduler)
        queue.async {
            group.enter()
            count.add(1)
            group.leave()
        }
        group.wait()
        control.check(count.load() == 1, "the wait is over too early")
        queue.sync(flags: .barrier) {}
    }

    static let checkThenAct = ClassicBug(name: "check then act", point: "between the look-up and the insertion") { scheduler, control in
        let (cache, loads) = (ControlledMutex<[String: Int]>([:]), ControlledAtomic(0))
        let look: @Sendable () -> Void = {
            if cache.withLock({ $0["key"] }) != nil { return }
            loads.add(1)
            cache.withLock { $0["key"] = 1 }
        }
        together(scheduler, look, look)
        control.check(loads.load() == 1, "loaded twice")
    }

    static let reusedNode = ClassicBug(name: "a compare-and-swap on a reused node", point: "between the load of the next node and the exchange") { scheduler, control in
        // A stack of the nodes 1 → 2 → 3; 0 is its end.
        let head = ControlledAtomic(1)
        let next = ControlledMutex([1: 2, 2: 3, 3: 0])
        @Sendable func pop() -> Int {
            while true {
                let first = head.load()
                if first == 0 { return 0 }
                let second = next.withLock { $0[first] ?? 0 }
                if head.compareExchange(expected: first, desired: second).exchanged { return first }
            }
        }
        @Sendable func push(_ node: Int) {
            while true {
                let first = head.load()
                next.withLock { $0[node] = first }
                if head.compareExchange(expected: first, desired: node).exchanged { return }
            }
        }
        let kept = ControlledMutex<[Int]>([])
        together(
            scheduler, { let node = pop(); kept.withLock { $0.append(node) } },
            {
                let (first, second) = (pop(), pop())
                kept.withLock { $0.append(second) }
                push(first)
            })
        while case let node = pop(), node != 0 { kept.withLock { $0.append(node) } }
        let nodes = kept.withLock { $0.filter { $0 != 0 } }
        control.check(Set(nodes).count == nodes.count, "a node is popped twice")
    }

    static let splitCount = ClassicBug(name: "a count read after its change", point: "between the subtraction and the load") { scheduler, control in
        let (owners, freed) = (ControlledAtomic(2), ControlledAtomic(0))
        let release: @Sendable () -> Void = {
            owners.subtract(1)
            if owners.load() == 0 { freed.add(1) }
        }
        together(scheduler, release, release)
        control.check(freed.load() == 1, "freed \(freed.load()) times")
    }

    static let wokenByAnother = ClassicBug(name: "if instead of while after a wait", point: "between the signal and the removal") { scheduler, control in
        let (items, filled) = (ControlledMutex<[Int]>([]), CountingSemaphore(value: 0))
        let take: @Sendable () -> Void = {
            if items.withLock({ $0.isEmpty }) { filled.wait() }
            items.withLock { items in
                control.check(!items.isEmpty, "an empty buffer is read")
                _ = items.popLast()
            }
        }
        together(
            scheduler, take, take,
            {
                for number in 0..<2 {
                    items.withLock { $0.append(number) }
                    filled.signal()
                }
            })
    }

    static let submittedAfterClose = ClassicBug(name: "an item after the close", point: "between the test of the flag and the append") { scheduler, control in
        let (isClosed, items) = (ControlledAtomic(false), ControlledMutex<[Int]>([]))
        together(
            scheduler, { if !isClosed.load() { items.withLock { $0.append(1) } } },
            {
                isClosed.store(true)
                items.withLock { $0 = [] }
            })
        control.check(items.withLock { $0.isEmpty }, "an item is never handled")
    }

    static let forgottenSignal = ClassicBug(name: "a return without the signal", point: "the begin of the reader before the writer", kind: .deadlock) { scheduler, _ in
        let (permit, isFull) = (CountingSemaphore(value: 1), ControlledAtomic(false))
        together(
            scheduler,
            {
                permit.wait()
                guard isFull.load() else { return }
                permit.signal()
            },
            {
                permit.wait()
                isFull.store(true)
                permit.signal()
            })
    }

    static let tornTransfer = ClassicBug(name: "a sum during a transfer", point: "between the two critical sections") { scheduler, control in
        let (one, other) = (ControlledMutex(50), ControlledMutex(50))
        together(
            scheduler,
            {
                one.withLock { $0 -= 10 }
                other.withLock { $0 += 10 }
            },
            {
                let sum = one.withLock { $0 } + other.withLock { $0 }
                control.check(sum == 100, "the sum is \(sum)")
            })
    }

    static let doubleDebounce = ClassicBug(name: "a debouncer that fires twice", point: "the timer's closure, between its begin and the next call") { scheduler, control in
        let (pending, fired) = (ControlledMutex<TaskQueue.Timer?>(nil), ControlledAtomic(0))
        let queue = TaskQueue(scheduler: scheduler)
        let call: @Sendable () -> Void = {
            pending.withLock { timer in
                timer?.cancel()
                timer = queue.asyncAfter(.milliseconds(10)) { fired.add(1) }
            }
        }
        call()
        queue.asyncAfter(.milliseconds(10), execute: call)
        control.sleep(for: .milliseconds(50))
        control.check(fired.load() == 1, "fired \(fired.load()) times")
    }
}
