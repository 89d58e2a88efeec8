import CScheduler
import Dispatch
import Foundation
import Testing

@testable import OverdriveCore

@Suite("Timers", .timeLimit(.minutes(10)))
struct TimerTests {
    let queue = TaskQueue(scheduler: makeScheduler())

    /// One timer of the engine's, made and let go of as a program in C would.
    private func inC(_ set: (inout od_timer_options) -> Void, _ calls: Counter) throws {
        guard case .engine(let handle, _) = queue.route else { return }
        var options = od_timer_options()
        set(&options)
        options.context = Unmanaged.passRetained(calls).toOpaque()
        options.call = { context, _ in
            if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().add() }
        }
        options.over = { context in if let context { Unmanaged<Counter>.fromOpaque(context).release() } }
        let timer = try #require(od_timer_create(handle, &options))
        od_timer_start(timer)
        od_timer_release(timer)
    }

    @Test(
        "Times before all and after all mean in C what they mean in Swift",
        arguments: [Int64.min, .min + 1, -1_000_000_000, -1, 0, 1, .max])
    func sameAsInC(time: Int64) throws {
        let (delays, dues, sentinel) = (Counter(), Counter(), Counter())
        try inC({ $0.delay_ns = time }, delays)
        queue.asyncAfter(.nanoseconds(time)) { delays.add() }
        if time != 0 {  // which means a delay in C
            try inC({ $0.due_ns = time }, dues)
            queue.timer(dueAt: time, qos: nil, flags: []) { _ in dues.add() }
        }
        let comes = time < .max ? 2 : 0
        #expect(eventually { delays.count == comes && dues.count == (time != 0 ? comes : 0) })
        queue.asyncAfter(.milliseconds(5)) { sentinel.add() }
        #expect(eventually { sentinel.count == 1 })
        #expect(delays.count == comes && dues.count == (time != 0 ? comes : 0))
    }

    @Test("asyncAfter_takes_a_deadline_of_the_suspending_clock_and_is_never_early")
    func suspending() {
        let (deadline, came) = (SuspendingClock.now + .milliseconds(5), Log<SuspendingClock.Instant>())
        queue.asyncAfter(deadline: deadline) { came.note(.now) }
        queue.asyncAfter(deadline: SuspendingClock.now - .seconds(1)) { came.note(.now) }
        #expect(eventually { came.all.count == 2 })
        #expect(came.all[0] < deadline && came.all[1] >= deadline)
    }

    @Test("Durations beyond the clock's ends are these ends", arguments: [1, -1])
    func beyond(sign: Int) {
        let runs = Counter()
        for far in [Duration.seconds(Int64.max / 2), .seconds(9_223_372_036) + .milliseconds(999)] {
            queue.asyncAfter(far * sign) { runs.add() }
            queue.asyncAfter(deadline: .now + far * sign) { runs.add() }
        }
        queue.asyncAfter(.milliseconds(1)) { runs.add(10) }
        #expect(eventually { runs.count >= 10 })
        queue.waitUntilAllTasksAreFinished()
        #expect(runs.count == (sign < 0 ? 14 : 10))
    }

    @Test("A closure, a call and an item that come later may be barriers, and have their quality of service")
    func asWhat() {
        let scheduler = makeScheduler()
        let queue = TaskQueue(scheduler: scheduler)
        let (inside, seen, gate) = (Counter(), Log<TaskQueue.QoS?>(), Gate())
        queue.async {
            gate.pass()
            inside.add()
        }
        let look = { @Sendable in
            queue.assertOnQueueAsBarrier()
            #expect(inside.count == 1)
            seen.note(.current)
        }
        queue.asyncAfter(.zero, qos: .userInitiated, flags: .barrier) { look() }
        queue.asyncAfter(deadline: .now, qos: .utility, flags: [.barrier, .enforceQoS]) { look() }
        queue.asyncAfter(.zero, execute: WorkItem(qos: .userInteractive, flags: .barrier) { look() })
        let timer = queue.every(.milliseconds(1), after: .zero, flags: .barrier) { tick in
            look()
            tick.timer.cancel()
        }
        #expect(eventually { queue.pendingTaskCount == 5 })
        runOneOfEachBand(on: scheduler)
        #expect(seen.all.isEmpty)
        gate.open()
        #expect(eventually { seen.all.count == 4 })
        #expect(Set(seen.all) == [.userInitiated, .utility, .userInteractive, .default])
        #expect(timer.isCancelled)
    }

    @Test("On the main queue, too, a closure that comes later has its quality of service")
    func onMain() async {
        let seen: TaskQueue.QoS? = await withCheckedContinuation { continuation in
            TaskQueue.main.asyncAfter(.zero, qos: .utility, flags: .enforceQoS) {
                TaskQueue.main.assertOnQueueAsBarrier()
                continuation.resume(returning: .current)
            }
        }
        #expect(seen == .utility)
        let inherited: TaskQueue.QoS? = await withCheckedContinuation { continuation in
            TaskQueue(qos: .utility).async {
                TaskQueue.main.asyncAfter(.zero, flags: [.enforceQoS, .inheritQoS]) { continuation.resume(returning: .current) }
            }
        }
        #expect(inherited == .utility)
    }

    @Test("A timer for ever, never kept, is dropped with the scheduler")
    func dropped() {
        let census = Census()
        let scheduler = makeScheduler()
        let other = TaskQueue(scheduler: scheduler)
        let timers = [Duration.seconds(Int64.max), Duration.seconds(1_000_000_000)].map { delay in
            let object = census.newborn()
            return other.asyncAfter(delay) { object.touch() }
        }
        #expect(census.alive == 2)
        let report = scheduler.shutdown(timeout: .seconds(10))
        #expect(census.alive == 0)
        #expect(timers.allSatisfy { $0.isCancelled })
        #expect(report.cancelled == 0)
        #expect(report.ran == 0)
        let late = other.asyncAfter(.zero) { Issue.record("after the shutdown") }
        #expect(late.isCancelled)
    }

    @Test("A cancelled timer never runs and lets go of its captures at once")
    func cancelled() {
        let census = Census()
        let timer = { [object = census.newborn()] in
            queue.asyncAfter(.seconds(3600)) { object.touch() }
        }()
        #expect(census.alive == 1)
        #expect(timer.cancel() == .prevented)
        #expect(census.alive == 0)
        #expect(timer.isCancelled)
        #expect(timer.cancel() == .wasOver)
    }

    @Test("Calls and missed ones are the intervals that passed")
    func missed() {
        let interval = Duration.milliseconds(4)
        let calls = Log<(missed: Int, at: ContinuousClock.Instant)>()
        let gate = Gate()
        let begin = ContinuousClock.now + interval
        let timer = queue.every(interval) { tick in
            calls.note((tick.missed, .now))
            if calls.all.count == 1 { gate.pass() }
            if calls.all.count == 5 { tick.timer.cancel() }
        }
        #expect(eventually { calls.all.count == 1 })
        usleep(50_000)
        gate.open()
        #expect(eventually { calls.all.count == 5 })
        let isLater = Gate()
        queue.asyncAfter(interval * 2) { isLater.open() }
        isLater.pass()
        queue.waitUntilAllTasksAreFinished()
        #expect(calls.all.count == 5)
        #expect(calls.all[1].missed >= 8)
        var interval_number = -1
        for call in calls.all {
            interval_number += call.missed + 1
            // Neither early nor drifting: each call comes after its own time …
            #expect(call.at >= begin + interval * interval_number)
        }
        #expect(timer.cancel() == .wasOver)
    }

    @Test("A timer's own closure may cancel it, and hears that it runs")
    func cancelsItself() {
        let said = Log<TaskQueue.Timer.CancelResult>()
        let timer = queue.every(.milliseconds(1), after: .zero) { tick in said.note(tick.timer.cancel()) }
        #expect(eventually { said.all.count == 1 && timer.cancel() == .wasOver })
        #expect(said.all == [.running])
    }

    @Test("cancelAll takes a waiting call back, and the timer goes on")
    func cancelAllLeavesRepeating() {
        let runs = Counter()
        queue.suspend()
        let timer = queue.every(.milliseconds(2), after: .zero) { runs.add() }
        #expect(eventually { queue.pendingTaskCount == 1 })
        #expect(queue.cancelAll() == 1)
        queue.resume()
        #expect(eventually { runs.count >= 2 })
        timer.cancel()
    }

    @Test("The main queue's timers come on the main actor, and are cancelled there")
    func main() async {
        let runs = Counter()
        let never = TaskQueue.main.asyncAfter(.seconds(3600)) { runs.add(1000) }
        #expect(never.cancel() == .prevented)
        await withCheckedContinuation { continuation in
            TaskQueue.main.asyncAfter(.milliseconds(5)) {
                MainActor.assertIsolated()
                runs.add()
                continuation.resume()
            }
        }
        let timer = TaskQueue.main.every(.milliseconds(2)) { MainActor.assertIsolated(); runs.add() }
        while runs.count < 5 { await Task.yield() }
        // The main thread runs this: no call runs now, and none will.
        let after = await MainActor.run { timer.cancel(); return runs.count }
        await withCheckedContinuation { continuation in
            TaskQueue.main.asyncAfter(.milliseconds(4)) { continuation.resume() }
        }
        #expect(runs.count == after)
        await TaskQueue.main.drained()
    }

    @Test("Arm, cancel and run race: each closure runs once or never, and is let go once")
    func race() {
        let census = Census()
        let ran = (0..<4000).map { _ in Counter() }
        let prevented = (0..<4000).map { _ in Counter() }
        onThreads(4) { thread in
            for index in stride(from: thread, to: 4000, by: 4) {
                let object = census.newborn()
                let timer = queue.asyncAfter(.microseconds(index % 7 * 20)) {
                    object.touch()
                    ran[index].add()
                }
                if index % 3 == 0 { usleep(UInt32(index % 5) * 15) }
                if index % 2 == 0, timer.cancel() == .prevented { prevented[index].add() }
            }
        }
        #expect(eventually { census.alive == 0 })
        #expect(census.died == 4000)
        #expect((0..<4000).allSatisfy { ran[$0].count + prevented[$0].count == 1 })
    }

    @Test("Timer collides with nobody's name")
    func names() {
        // Foundation is imported above: its Timer is the one meant without more words.
        let foundations: Timer.Type = Foundation.Timer.self
        let ours: TaskQueue.Timer.Type = TaskQueue.Timer.self
        #expect(ObjectIdentifier(foundations) != ObjectIdentifier(ours))
    }
}
