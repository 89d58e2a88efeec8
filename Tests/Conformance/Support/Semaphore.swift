import Dispatch
import OverdriveCore

/// A `DispatchSemaphore` or a `CountingSemaphore`.
typealias Semaphore = Counterpart<DispatchSemaphore, DropIn.DispatchSemaphore, CountingSemaphore>

extension Surface {
    func semaphore(_ value: Int) -> Semaphore {
        pick(DispatchSemaphore(value: value), DropIn.DispatchSemaphore(value: value), CountingSemaphore(value: value))
    }
}

extension Semaphore {
    func wait() { on({ $0.wait() }, { $0.wait() }, { $0.wait() }) }

    /// Whether a permit came in time.
    func wait(milliseconds: Int) -> Bool {
        let time = soon(milliseconds)
        return on(
            { $0.wait(timeout: time) == .success }, { $0.wait(timeout: time) == .success },
            { $0.wait(timeout: .milliseconds(milliseconds)) == .success })
    }

    func waitForever() -> Bool {
        on(
            { $0.wait(timeout: .distantFuture) == .success }, { $0.wait(timeout: .distantFuture) == .success },
            { $0.wait(timeout: .seconds(Int64.max)) == .success })
    }

    /// Whether somebody waited for the permit.
    @discardableResult
    func signal() -> Bool { on({ $0.signal() != 0 }, { $0.signal() != 0 }, { $0.signal() }) }
}
