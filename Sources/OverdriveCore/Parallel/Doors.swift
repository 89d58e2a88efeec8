// Declares the engine functions that fork and join non-escaping closures. The operations of `Parallel` call them.
// It defines no function and owns no state.

public import CScheduler

// These declarations rely on the first two assumptions of ClosureDoor.swift, and on two more:
//  1. `od_fork_closure` (CScheduler/include/od_fork_closure.h) is a static inline C function with Swift's calling
//     convention. Swift declares it here under the same symbol. The compiler emits it wherever code calls the imported
//     `od_fork_closure_here`, and then inlines it. Without that call the program does not link.
//  2. The caller passes the closure again at the join. So its context lives until the join, and the optimiser knows
//     that its captured variables may have changed.

/// Offers `body` to thieves and returns its fork slot.
@_silgen_name("od_fork_closure")
@usableFromInline
func forkClosure(_ body: () -> Void) -> UnsafeMutablePointer<od_fork_slot>

/// Joins a fork: runs `body`, or waits for the thief that runs it.
@_silgen_name("od_join_closure")
@usableFromInline
func joinClosure(_ body: () -> Void)

/// Joins a fork without running `body`. If true, the caller must run `body` and then call `od_join_end`.
@_silgen_name("od_join_closure_back")
@usableFromInline
func takeBackClosure(_ body: () -> Void) -> Bool

/// Offers the call of `body` with `number` to thieves. The thief writes its result, of at most 16 bytes, to the memory of
/// the slot. (The generic `R` makes every closure return its result in memory.)
@_silgen_name("od_fork_numbered_closure")
@usableFromInline
func forkNumbered<R>(_ body: (Int) -> R, _ number: UInt32) -> UnsafeMutablePointer<od_fork_slot>

/// Joins the newest numbered fork; see ``takeBackClosure(_:)``.
@_silgen_name("od_join_numbered_closure_back")
@usableFromInline
func takeBackNumbered<R>(_ body: (Int) -> R) -> Bool

/// Offers `body` to thieves and gives its captures to the engine. Returns nil if `body` has run at once.
@_silgen_name("od_fork_owned")
@usableFromInline
func forkOwned(_ body: __owned @escaping () -> Void) -> UnsafeMutablePointer<od_fork_slot>?
