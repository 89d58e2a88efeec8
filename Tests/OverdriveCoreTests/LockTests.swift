import Foundation
import Testing

@testable import OverdriveCore

@Suite("A lock", .timeLimit(.minutes(10)))
struct LockTests {
    private final class Locks: Sendable {
        let number = Locked(1)
        let numbers = Locked([1])
    }

    @Test("finds its value where the library's mutex has it, whatever its size and alignment")
    func place() {
        func keeps<T: Equatable & Sendable>(_ value: T) -> Bool { Locked(value).withLock { $0 == value } }
        #expect(keeps(UInt8(7)) && keeps(UInt16(7)) && keeps(UInt32(7)) && keeps(7.5) && keeps("seven") && keeps([7]))
        #expect(keeps(SIMD8<Double>(repeating: 7)) && keeps(Int?.none) && keeps(Array(repeating: "seven", count: 7)))
    }

    /// It ended with the mutex of those who sleep, and whoever woke them waited for ever.
    @Test("for which a thread waits that is cancelled is handed on, and the thread ends behind it")
    func cancelled() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let (locks, gate, ends) = (Locks(), Gate(), Counter())
            onThread {
                locks.number.withLock { _ in gate.pass() }
                ends.add()
            }
            _ = eventually { gate.arrivals == 1 }
            let waiter = Holder<pthread_t?>(nil)
            onThread {
                waiter.value = pthread_self()
                locks.number.withLock { $0 = 2 }
                pthread_testcancel()
                ends.add()
            }
            _ = eventually { waiter.value != nil }
            usleep(50_000)  // it sleeps by now
            guard let thread = waiter.value, pthread_cancel(thread) == 0 else { _exit(2) }
            gate.open()
            guard eventually({ ends.count == 1 && locks.number.withLock { $0 } == 2 }) else { _exit(3) }
            _exit(0)
        }
    }

    /// The child waited for ever, or ended where two of its threads met.
    @Test("that a thread of the parent holds, and others wait for, is free in a forked child, and is held and waited for there")
    func forked() async {
        await #expect(processExitsWith: .success) {
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
            let locks = Locks()
            /// In a child what is left of several words is not looked at.
            func add(_ number: Int) -> [Int] {
                locks.numbers.withLock(orAnew: []) { numbers in
                    numbers.append(number)
                    return numbers
                }
            }
            var none = sigset_t()
            pthread_sigmask(SIG_SETMASK, &none, nil)
            var generation = 0, child: pid_t = 0
            while true {
                alarm(60)
                let (gate, ends) = (Gate(), Counter())
                onThread {
                    locks.numbers.withLock(orAnew: []) { _ in
                        locks.number.withLock { number in
                            number += 1
                            gate.pass()
                        }
                    }
                    ends.add()
                }
                _ = eventually { gate.arrivals == 1 }
                for _ in 0..<2 {
                    onThread {
                        locks.number.withLock { $0 += 1 }
                        ends.add()
                    }
                }
                usleep(50_000)  // they sleep by now, and are woken below
                child = generation < 2 ? fork() : -1
                if child == 0 {
                    generation += 1
                    guard locks.number.withLock({ $0 }) == generation + 1 else { _exit(2) }
                    guard add(7) == [7], add(8) == [7, 8] else { _exit(3) }
                    continue
                }
                gate.open()
                guard eventually({ ends.count == 3 }), locks.number.withLock({ $0 }) == generation + 4 else { _exit(4) }
                guard add(9) == (generation == 0 ? [1, 9] : [7, 8, 9]) else { _exit(5) }
                var status: Int32 = 0
                if child > 0 { waitpid(child, &status, 0) }
                _exit(status == 0 ? 0 : 6)
            }
        }
    }
}
