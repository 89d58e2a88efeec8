internal import CScheduler

// The door through which closures go to the engine without a box.
//
// What it rests on (Tests/OverdriveCoreTests/ClosureDoorTests.swift fails at once if a compiler breaks it):
//  1. A value of type `() -> Void` is two words: the address of a function in Swift's calling convention and
//     a reference-counted context, or nil for a closure that captures nothing.
//  2. A closure parameter is passed as these two words, in the places of two ordinary parameters.
//  3. `__owned` passes the context at +1: whoever runs the closure releases it afterwards, once.
//  4. The function takes its context in the convention's context register and does not consume it.
// The engine's half is `od_queue_async_closure` (CScheduler/gate/submit.c) and `odi_job_run` (job/job.h).

/// Queues `body`; the engine runs it once, or discards it once, and releases its captures.
@_silgen_name("od_queue_async_closure")
func submitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32)

/// The same with the engine's flags.
@_silgen_name("od_queue_async_closure_with")
func submitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32,
    _ flags: UInt32)

/// The same where the queue's pending limit is not reached. 0: it is, and the closure has been released.
@_silgen_name("od_queue_try_async_closure")
func trySubmitClosure(
    _ body: __owned @escaping () -> Void, _ queue: OpaquePointer, _ group: OpaquePointer?, _ band: Int32,
    _ flags: UInt32) -> UInt32

/// Adds `body` to a batch of the engine's.
@_silgen_name("od_batch_add_closure")
func addClosure(_ body: __owned @escaping () -> Void, _ batch: OpaquePointer)

/// A heap box for the C functions that take `function(context)`: notifications, which are rare.
final class Callback {
    private let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    /// Where the engine has no memory to keep a notification, as where Swift has none for its closure.
    static func demand(_ status: od_status, by door: String) {
        if status != OD_OK { trap("\(door): out of memory for the notification. Raise the memory limit.") }
    }

    /// The context to pass with ``function``, at +1: `function` must be called exactly once.
    var context: UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(self).toOpaque()
    }

    static let function: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Callback>.fromOpaque(context).takeRetainedValue().body()
    }
}
