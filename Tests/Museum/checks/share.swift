// share.swift: loops of Sources/OverdriveCore/Parallel/Share.swift as it is, on the engine's own pool, with
// nothing else of the Swift layer. Compiled by the Makefile's rule for it; of the checks those that
// its arguments name run, or all do.

import CScheduler
import Glibc

/// What Share.swift needs of the rest of its folder.
@usableFromInline
enum Parallel {
    @usableFromInline
    static func trapGrain(_ grain: Int) -> Never { fatalError("a grain of \(grain)") }
}

/// How often each number was taken, and by how many threads.
struct Ledger: ~Copyable {
    let times: UnsafeMutablePointer<UInt8>
    let count: Int
    let caller = pthread_self()

    init(_ count: Int) {
        self.count = count
        times = .allocate(capacity: count + 4096)
        times.initialize(repeating: 0, count: count + 4096)
    }

    deinit { times.deallocate() }

    /// Of the numbers, and of what lies behind them: nothing is to be taken there.
    var isExact: Bool {
        for number in 0..<count where times[number] != 1 {
            print("number \(number) of \(count) was taken \(times[number]) times")
            return false
        }
        for number in count..<count + 4096 where times[number] != 0 {
            print("number \(number) of \(count) was taken")
            return false
        }
        return true
    }
}

func isCaller(_ caller: pthread_t) -> Bool { pthread_equal(caller, pthread_self()) != 0 }

/// Calls `loop` until enough of them were helped with: true. A ledger that is wrong: false at once. (Where nobody
/// comes to help within a minute, nothing was shown.)
func whileHelped(_ enough: Int, _ loop: (_ helped: UnsafeMutablePointer<Bool>) -> Bool) -> Bool {
    let helped = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
    defer { helped.deallocate() }
    var times = 0
    let until = time(nil) + 60
    while times < enough {
        helped.initialize(to: false)
        if !loop(helped) { return false }
        if helped.pointee { times += 1 }
        if time(nil) > until {
            print("only \(times) of \(enough) loops were helped with")
            return false
        }
    }
    return true
}

/// Many brief numbers: takers meet at the count. A loop lasts long enough for one of them to lose its CPU there.
func each_number_is_taken_once() -> Bool {
    whileHelped(60) { helped in
        let ledger = Ledger(1 << 22)
        let (times, caller) = (ledger.times, ledger.caller)
        Share(ledger.count).work { part in
            if !isCaller(caller) { helped.pointee = true }
            for number in part { times[number] &+= 1 }
        }
        return ledger.isExact
    }
}

/// A helper's last number ends after everybody else's.
func what_helpers_did_is_there_when_the_loop_returns() -> Bool {
    whileHelped(30) { helped in
        let ledger = Ledger(20)
        let (times, caller) = (ledger.times, ledger.caller)
        Share(ledger.count).work { part in
            if !isCaller(caller) {
                helped.pointee = true
                usleep(5000)
            } else {
                usleep(200)
            }
            for number in part { times[number] &+= 1 }
        }
        return ledger.isExact
    }
}

/// The caller begins alone and offers what is left.
func what_was_taken_before_the_offer_is_not_taken_again() -> Bool {
    let ledger = Ledger(300)
    let times = ledger.times
    Share(ledger.count).work { part in
        usleep(10)
        for number in part { times[number] &+= 1 }
    }
    return ledger.isExact
}

/// What several takers add up to has to be a number.
func a_grain_may_be_larger_than_its_range() -> Bool {
    let share = Share(10, grain: .max)
    var taken = 0
    for _ in 0..<8 { share.take { taken += $0.count } }
    return taken == 10
}

let checks: [(name: String, run: () -> Bool)] = [
    ("each_number_is_taken_once", each_number_is_taken_once),
    ("what_helpers_did_is_there_when_the_loop_returns", what_helpers_did_is_there_when_the_loop_returns),
    ("what_was_taken_before_the_offer_is_not_taken_again", what_was_taken_before_the_offer_is_not_taken_again),
    ("a_grain_may_be_larger_than_its_range", a_grain_may_be_larger_than_its_range),
]

@main
struct Checks {
    static func main() {
        setlinebuf(stdout)
        setenv("OVERDRIVE_WORKERS", "4", 1)
        let only = CommandLine.arguments.dropFirst()
        var passed = 0
        for check in checks where only.isEmpty || only.contains(check.name) {
            print("[ RUN      ] \(check.name)")
            if !check.run() {
                print("[  FAILED  ] \(check.name)")
                exit(1)
            }
            passed += 1
        }
        print("[  PASSED  ] \(passed) test(s).")
        exit(passed == 0 ? EX_USAGE : EX_OK)
    }
}
