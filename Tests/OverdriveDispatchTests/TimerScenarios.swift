import Foundation
import OverdriveDispatch
import TestSupport
import Testing

extension DropIn {
    /// What libdispatch's own test programs do with timer sources, each by that program's name, with shorter times.
    @Suite("libdispatch's timer scenarios")
    struct TimerScenarios {
        private let queue = DispatchQueue(label: "timers")

        @Test("timer: one-shot timers later than a repeating one's end do not fire; its handler lets it go")
        func timer() {
            let fired = Log<Int>()
            let over = DispatchSemaphore(value: 0)
            let oneShots = (1...5).map { number in
                let timer = DispatchSource.makeTimerSource(queue: queue)
                timer.schedule(deadline: number <= 2 ? .now() + .milliseconds(number) : .now() + 3600)
                timer.setEventHandler { fired.note(number) }
                timer.resume()
                return timer
            }
            let ticks = Box(0)
            let repeating = DispatchSource.makeTimerSource(queue: .main)
            repeating.schedule(deadline: .now(), repeating: .milliseconds(20))
            repeating.setCancelHandler { over.signal() }
            repeating.setEventHandler { [unowned repeating] in
                ticks.change { $0 += 1 }
                if ticks.value >= 3, fired.all.count == 2 {
                    repeating.schedule(deadline: .now(), repeating: .never)
                    repeating.cancel()
                }
            }
            repeating.resume()
            over.wait()
            #expect(repeating.isCancelled)
            #expect(fired.all.sorted() == [1, 2])
            let last = ticks.value
            queue.sync {}
            #expect(ticks.value == last)
            for timer in oneShots { timer.cancel() }
        }

        @Test("timer_bit31: 2^31 nanoseconds are that long, neither a short time nor never")
        func bit31() {
            let over = DispatchSemaphore(value: 0)
            let begin = DispatchTime.now()
            let nanoseconds = 0x8000_0000
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: begin + .nanoseconds(nanoseconds), repeating: .nanoseconds(nanoseconds))
            timer.setEventHandler { [unowned timer] in timer.cancel() }
            timer.setCancelHandler { over.signal() }
            timer.resume()
            #expect(over.wait(timeout: .now() + 200) == .success)
            #expect(DispatchTime.now() >= begin + .nanoseconds(nanoseconds))
            #expect(timer.isCancelled)
        }

        @Test("timer_bit63: an interval near the end of time fires once", arguments: [Int.max, Int.max - 1, .max / 2 + 2])
        func bit63(interval: Int) {
            let fired = Counter()
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { fired.add() }
            timer.schedule(deadline: .now(), repeating: .nanoseconds(interval))
            timer.resume()
            #expect(eventually { fired.count == 1 })
            Thread.sleep(forTimeInterval: 0.05)
            #expect(fired.count == 1)
            timer.cancel()
        }

        @Test("timer_set_time: a timer set to a shorter interval by its own handler keeps that one")
        func setTime() {
            let over = DispatchSemaphore(value: 0)
            let ticks = Box(0)
            let begin = DispatchTime.now()
            let timer = DispatchSource.makeTimerSource(queue: .main)
            timer.schedule(deadline: begin + .milliseconds(20), repeating: .seconds(3600))
            timer.setCancelHandler { over.signal() }
            timer.setEventHandler { [unowned timer] in
                ticks.change { $0 += 1 }
                if ticks.value == 1 { timer.schedule(deadline: .now(), repeating: .milliseconds(2)) }
                if ticks.value >= 15 { timer.cancel() }
            }
            timer.resume()
            #expect(over.wait(timeout: .now() + 200) == .success)
            #expect(timer.isCancelled)
            #expect(ticks.value == 15)
            #expect(DispatchTime.now() >= begin + .milliseconds(20))
        }

        @Test("timer_short: one of 5 µs ticks beside thousands whose queue is suspended")
        func short() {
            let held = DispatchQueue(label: "held")
            let registered = DispatchGroup()
            let heldTicks = Counter()
            let others = (0..<5_000).map { _ in
                let timer = DispatchSource.makeTimerSource(queue: held)
                timer.schedule(deadline: .now(), repeating: .microseconds(5))
                timer.setEventHandler { heldTicks.add() }
                registered.enter()
                timer.setRegistrationHandler { [unowned timer] in
                    timer.suspend()
                    registered.leave()
                }
                timer.resume()
                return timer
            }
            registered.wait()
            held.suspend()
            let before = heldTicks.count
            for timer in others { timer.resume() }
            let ticks = Counter()
            let last = DispatchSemaphore(value: 0)
            let timer = DispatchSource.makeTimerSource(queue: .global())
            timer.schedule(deadline: .now(), repeating: .microseconds(5))
            timer.setEventHandler { [unowned timer] in if ticks.add() == 100 { timer.cancel() } }
            timer.setCancelHandler { last.signal() }
            timer.resume()
            #expect(last.wait(timeout: .now() + 200) == .success)
            #expect(timer.isCancelled)
            #expect(ticks.count == 100)
            #expect(heldTicks.count == before)
            for timer in others { timer.cancel() }
            held.resume()
            held.sync {}
        }

        @Test("timer_timeout: a timer whose queue it suspends fires once, and holds no other timer up")
        func timeout() {
            let held = DispatchQueue(label: "timer queue")
            let fired = Counter()
            let value = Box(5)
            let told = DispatchSemaphore(value: 0)
            let mini = DispatchSource.makeTimerSource(queue: held)
            mini.setEventHandler {
                fired.add()
                held.suspend()
            }
            mini.schedule(deadline: .now(), repeating: .nanoseconds(100))
            let long = DispatchSource.makeTimerSource(queue: .global())
            long.setEventHandler { [unowned long] in
                value.value = 10
                long.cancel()
                told.signal()
            }
            long.schedule(deadline: .now() + .milliseconds(100), repeating: .seconds(2))
            mini.resume()
            long.resume()
            #expect(told.wait(timeout: .now() + 200) == .success)
            #expect(eventually { fired.count > 0 })
            Thread.sleep(forTimeInterval: 0.02)
            #expect(long.isCancelled)
            #expect(value.value == 10)
            #expect(fired.count == 1)
            mini.cancel()
            held.resume()
            held.sync {}
        }

        @Test("suspend_timer: what a suspended timer missed comes as one event whose data counts all of it")
        func suspendTimer() {
            let (ticks, virtual, mayEnd) = (Box(0), Box(UInt(0)), Box(false))
            let over = DispatchSemaphore(value: 0)
            let begin = DispatchTime.now()
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: begin + .milliseconds(10), repeating: .milliseconds(10))
            timer.setEventHandler { [unowned timer] in
                ticks.change { $0 += 1 }
                virtual.change { $0 += timer.data }
                if mayEnd.value, virtual.value >= 30 { timer.cancel() }
            }
            timer.setCancelHandler { over.signal() }
            timer.resume()
            #expect(eventually { ticks.value >= 3 })
            timer.suspend()
            queue.sync {}
            let (before, data) = (ticks.value, virtual.value)
            Thread.sleep(forTimeInterval: 0.1)
            #expect(ticks.value == before)
            mayEnd.value = true
            timer.resume()
            #expect(eventually { ticks.value > before })
            #expect(virtual.value >= data + 9)
            over.wait()
            #expect(timer.isCancelled)
            // One event a tick at most: as much time has passed as the data say.
            #expect(DispatchTime.now() >= begin + .milliseconds(10 * Int(virtual.value)))
            #expect(ticks.value < Int(virtual.value))
        }

        @Test("drift: a hundredth of a second stays one on average, whatever single ticks are late by")
        func drift() throws {
            let interval = 10_000_000
            let ticks = Log<(due: Int, at: UInt64)>()
            let counted = Box(0)
            let over = DispatchSemaphore(value: 0)
            let begin = DispatchTime.now()
            let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            timer.schedule(deadline: begin + .nanoseconds(interval), repeating: .nanoseconds(interval))
            timer.setEventHandler { [unowned timer] in
                counted.change { $0 += Int(timer.data) }
                ticks.note((due: counted.value, at: DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds))
                if counted.value >= 100 { timer.cancel() }
            }
            timer.setCancelHandler { over.signal() }
            timer.resume()
            #expect(over.wait(timeout: .now() + 200) == .success)
            #expect(timer.isCancelled)
            // None is early; and the earliest of the late ones shows that the times themselves have not moved: one tick
            // in a hundred comes within an interval of when it was due.
            let late = ticks.all.map { Int($0.at) - $0.due * interval }
            let earliest = try #require(late.min())
            let best = try #require(late.suffix(50).min())
            #expect(earliest >= 0)
            #expect(best < interval)
        }
    }
}
