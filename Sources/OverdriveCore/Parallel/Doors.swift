public import CScheduler

// The doors through which closures that do not escape are forked.
//
// What they rest on, beside the first two points of ClosureDoor.swift:
//  1. The engine's half, `od_fork_closure` (CScheduler/include/od_fork_closure.h), is a static inline function in Swift's
//     calling convention. It is declared here under the same symbol, and emitted wherever the imported
//     `od_fork_closure_here` is called: then the optimiser inlines it. Were it not emitted, the program would
//     not link.
//  2. The closure is passed to the door again when it is joined, so that its context lives until then, and
//     the optimiser knows that its captures may have changed.

/// Offers `body` to thieves.
@_silgen_name("od_fork_closure")
@usableFromInline
func forkClosure(_ body: () -> Void) -> UnsafeMutablePointer<od_fork_slot>

/// Runs `body`, which was forked, or waits for who runs it.
@_silgen_name("od_join_closure")
@usableFromInline
func joinClosure(_ body: () -> Void)

/// The same, but `body` is not run here. True: the caller does, and calls `od_join_end` afterwards.
@_silgen_name("od_join_closure_back")
@usableFromInline
func takeBackClosure(_ body: () -> Void) -> Bool

/// Offers the call of `body` with a number to thieves. Who takes it leaves the result, of up to 16 bytes, at the
/// slot's address. (`R` is a parameter so that closures give their results in memory, whatever they are.)
@_silgen_name("od_fork_numbered_closure")
@usableFromInline
func forkNumbered<R>(_ body: (Int) -> R, _ number: UInt32) -> UnsafeMutablePointer<od_fork_slot>

/// As ``takeBackClosure(_:)``.
@_silgen_name("od_join_numbered_closure_back")
@usableFromInline
func takeBackNumbered<R>(_ body: (Int) -> R) -> Bool

/// Offers `body`, whose captures go to the engine, to thieves. nil: it has run at once.
@_silgen_name("od_fork_owned")
@usableFromInline
func forkOwned(_ body: __owned @escaping () -> Void) -> UnsafeMutablePointer<od_fork_slot>?
