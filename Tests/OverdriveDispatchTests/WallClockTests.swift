import Foundation
import OverdriveCore
import TestSupport
import Testing

@testable import OverdriveDispatch

extension DropIn {
    /// The machine's clock cannot be set here; this one can.
    @Suite("Times of a wall clock that is set")
    struct WallClocks {
        private let queue = DispatchQueue(label: "wall clock")
        private let clock = Clock(), fired = Counter()

        /// The machine's wall clock and what it was set on by.
        private final class Clock: Sendable {
            private let shift = Box(Int64(0))
            let clock: WallClock

            init() {
                clock = WallClock { [shift] in (DispatchWallTime.now().since1970 ?? 0) + shift.value }
            }

            func inSeconds(_ seconds: Int64) -> Int64 { clock.now() + seconds * 1_000_000_000 }

            /// - Parameter telling: Whether timers learn of it.
            func set(on seconds: Int64, telling: Bool = true) {
                shift.change { $0 += seconds * 1_000_000_000 }
                if telling { clock.wasSet() }
            }
        }

        /// A timer that counts its calls in `fired`; the clock keeps it.
        @discardableResult
        private func timer(
            in seconds: Int64, and nanoseconds: Int64 = 0, every interval: Int64 = 0, on queue: TaskQueue? = nil
        ) -> WallTimer {
            let first = clock.inSeconds(seconds) + nanoseconds
            return WallTimer(clock.clock, on: queue ?? self.queue.taskQueue, at: first, every: interval) { [fired] _ in fired.add() }
        }

        private func makeSource(_ handler: @escaping @Sendable (UInt) -> Void) -> OverdriveDispatch.DispatchSource {
            let source = OverdriveDispatch.DispatchSource(SourceCore(on: queue))
            source.setEventHandler { [unowned source] in handler(source.data) }
            return source
        }

        @Test("a timer of an hour is due at once when the clock is set on by an hour, and goes when it is over")
        func setOn() {
            weak let kept = timer(in: 3600)
            clock.set(on: 1800)
            queue.sync {}
            #expect(fired.count == 0 && kept != nil)
            clock.set(on: 1800)
            #expect(eventually { fired.count == 1 && kept == nil })
        }

        @Test("a time that is put off again by setting the clock back does not come, and comes when the clock is there")
        func setBack() {
            queue.suspend()
            timer(in: 0, and: 20_000_000)
            clock.set(on: -3600)
            queue.resume()
            Thread.sleep(forTimeInterval: 0.08)
            #expect(fired.count == 0)
            clock.set(on: 3600)
            #expect(eventually { fired.count == 1 })
        }

        @Test("a clock that is set back just before a timer's call begins makes that call no earlier")
        func setBackUntold() {
            queue.suspend()
            timer(in: 0)
            Thread.sleep(forTimeInterval: 0.02)
            clock.set(on: -3600, telling: false)
            queue.resume()
            queue.sync {}
            #expect(fired.count == 0)
            clock.set(on: 3600)
            #expect(eventually { fired.count == 1 })
        }

        @Test("a timer of one call is not called again when the clock is set in that call")
        func setInCall() {
            let arm = { [clock, fired, queue] in
                WallTimer(clock.clock, on: queue.taskQueue, at: clock.inSeconds(0)) { _ in
                    if fired.add() == 1 { clock.set(on: 1) }
                }
            }
            weak let kept = arm()
            #expect(eventually { kept == nil } && fired.count == 1)
        }

        @Test("a timer whose only call was taken back with what its queue had goes, and comes no more when the clock is set")
        func takenBack() {
            queue.suspend()
            weak let kept = timer(in: 0)
            #expect(eventually { queue.taskQueue.cancelAll() == 1 })
            queue.resume()
            #expect(eventually { kept == nil })
            clock.set(on: 1)
            queue.sync {}
            #expect(fired.count == 0)
        }

        @Test("a repeating timer leaves the clock when its scheduler is shut down, and is not armed by it again")
        func shutDown() throws {
            let scheduler = try Scheduler(workers: 1)
            weak let kept = timer(in: 3600, every: 1_000_000_000, on: .serial(label: "wall clock, own", scheduler: scheduler))
            clock.set(on: 1)
            #expect(kept != nil)
            scheduler.shutdown(timeout: .zero)
            #expect(eventually { kept == nil })
            clock.set(on: 3600)
            #expect(fired.count == 0)
        }

        @Test("a repeating timer that a set clock arms again outlives the call that it had before")
        func armedAgain() throws {
            weak let kept = timer(in: 3600, every: 1_000_000_000)
            // Each has a call of its own, which goes; what its going says is said once more.
            for round in 1...100 {
                clock.set(on: 1)
                try #require(kept).end(of: round)
            }
            queue.sync {}
            #expect(fired.count == 0)
            clock.set(on: 3600)
            #expect(eventually { fired.count > 0 })
            try #require(kept).cancel()
            #expect(eventually { kept == nil })
        }

        @Test("a source counts the intervals that the clock passed over, keeps to whole ones from the first time, and stops")
        func repeating() {
            let told = Log<UInt>()
            let over = DispatchSemaphore(value: 0)
            let source = makeSource { told.note($0) }
            source.setCancelHandler { over.signal() }
            source.core.schedule(atWall: clock.inSeconds(1000), every: 100_000_000_000, of: clock.clock)
            source.activate()
            clock.set(on: 900)
            queue.sync {}
            #expect(told.all == [])
            clock.set(on: 450)
            #expect(eventually { told.all == [4] })  // 1000, 1100, 1200, 1300
            clock.set(on: -300)
            queue.sync {}
            #expect(told.all == [4])
            clock.set(on: 360)
            #expect(eventually { told.all == [4, 1] })  // 1400
            source.cancel()
            over.wait()
            clock.set(on: 10_000)
            queue.sync {}
            #expect(told.all == [4, 1])
        }

        @Test("a source that was set by the clock and then by the machine's does not follow the clock any more")
        func otherTimes() {
            let source = makeSource { [fired] _ in fired.add() }
            source.core.schedule(atWall: clock.inSeconds(60), every: nil, of: clock.clock)
            source.activate()
            source.schedule(deadline: .now() + 3600)
            clock.set(on: 120)
            queue.sync {}
            #expect(fired.count == 0)
            source.core.schedule(atWall: clock.inSeconds(60), every: nil, of: clock.clock)
            clock.set(on: 120)
            #expect(eventually { fired.count == 1 })
            source.core.schedule(atWall: nil, every: 1, of: clock.clock)
            clock.set(on: 1 << 31)
            queue.sync {}
            #expect(fired.count == 1)
        }

        @Test("a leeway has timers share times, of which none is early or later than it allows")
        func leeways() {
            for leeway in [1, 1000, 2047] as [Int64] { #expect(SourceCore.due(12_345_678, within: leeway) == 12_345_678) }
            #expect(SourceCore.due(.max - 1, within: 1 << 62) == .max - 1)
            for leeway in [2048, 3_000_000, 1_000_000_000, .max - 1] as [Int64] {
                let dues = (0..<1000).map { SourceCore.due(12_345_678 + $0, within: leeway) }
                #expect(Set(dues).count <= 2)
                for (place, due) in dues.enumerated() { #expect((1...leeway).contains(due - 12_345_678 - Int64(place))) }
            }
        }

        @Test("the machine's clock is watched from its first timer on")
        func watched() throws {
            let told = DispatchSemaphore(value: 0)
            let begin = DispatchWallTime.now()
            queue.asyncAfter(wallDeadline: begin + .milliseconds(20), qos: .userInitiated) {
                #expect(DispatchWallTime.now() >= begin + .milliseconds(20))
                told.signal()
            }
            queue.asyncAfter(wallDeadline: .now(), execute: DispatchWorkItem { told.signal() })
            queue.asyncAfter(wallDeadline: .distantFuture) { Issue.record("the end of time has come") }
            told.wait()
            told.wait()
            // The kernel tells of a descriptor what it was set to: CLOCK_REALTIME is 0, TFD_TIMER_CANCEL_ON_SET is 2.
            let watching = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").contains { name in
                let text = (try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8)) ?? ""
                return text.contains("clockid: 0\n") && text.contains("settime flags: 03\n")
            }
            #expect(watching)
        }
    }
}
