// Declares the engine functions that take a Swift closure without boxing it. Every submission calls them. It also
// owns `Callback`, a box for C callbacks.

internal import CScheduler

// These declarations rely on four facts about the compiler. Tests/OverdriveCoreTests/ClosureDoorTests.swift fails if
// one of them changes.
//  1. A value of type `() -> Void` has two words: the address of a function with Swift's calling convention, and a
//     reference-counted context. The context is nil for a closure without captures.
//  2. A closure parameter is passed as these two words, like two ordinary parameters.
//  3. `__owned` passes the context at +1. The code that runs the closure releases it once afterwards.
//  4. The function takes its context in the context register of the convention, and does not consume it. The engine
//     implements them in `od_queue_async_closure` (CScheduler/gate/submit.c) and `odi_job_run` (job/job.h).

/// Submits `body`. The engine runs or discards it exactly once, and releases its captures.
@_silgen_name("od_queue_async_closure")
func submitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32)

/// Submits `body` with flags of the engine.
@_silgen_name("od_queue_async_closure_with")
func submitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32,
    _ flags: UInt32)

/// Submits `body` if the queue has not reached its pending limit. Returns 0, and releases `body`, if the queue is
/// full.
@_silgen_name("od_queue_try_async_closure")
func trySubmitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32,
    _ flags: UInt32) -> UInt32

/// Adds `body` to an engine batch.
@_silgen_name("od_batch_add_closure")
func addClosure(_ body: __owned @escaping () -> Void, _ batch: OpaquePointer)

/// A heap box that passes a closure to C functions with `function(context)`, for rare notifications.
final class Callback {
    private let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    /// Traps if the engine has no memory for a notification, as Swift traps if it has none for a closure.
    static func demand(_ status: od_status, by door: String) {
        if status != OD_OK { trap("\(door): out of memory for the notification. Raise the memory limit.") }
    }

    /// The context to pass with ``function``, retained: `function` must be called exactly once.
    var context: UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(self).toOpaque()
    }

    static let function: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Callback>.fromOpaque(context).takeRetainedValue().body()
    }
}
