import Foundation
import OverdriveDispatch
import Testing

/// The drop-in types: their shapes, and what programs rely on.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DropIn {}

/// How long an event may take on a busy machine before a test gives up.
let patience: DispatchTime = .distantFuture

/// A variable that one closure at a time changes.
final class Box<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) {
        stored = value
    }

    var value: Value {
        get { lock.withLock { stored } }
        set { lock.withLock { stored = newValue } }
    }

    func change(_ body: (inout Value) -> Void) {
        lock.withLock { body(&stored) }
    }
}
