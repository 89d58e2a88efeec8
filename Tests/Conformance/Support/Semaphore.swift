import Dispatch
import OverdriveCore

/// A `DispatchSemaphore` or a `CountingSemaphore`.
enum Semaphore: Sendable {
    case theirs(DispatchSemaphore)
    case dropIn(DropIn.DispatchSemaphore)
    case ours(CountingSemaphore)

    func wait() {
        switch self {
        case .theirs(let semaphore): semaphore.wait()
        case .dropIn(let semaphore): semaphore.wait()
        case .ours(let semaphore): semaphore.wait()
        }
    }

    /// Whether a permit came in time.
    func wait(milliseconds: Int) -> Bool {
        switch self {
        case .theirs(let semaphore): semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .dropIn(let semaphore): semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        case .ours(let semaphore): semaphore.wait(timeout: .milliseconds(milliseconds)) == .success
        }
    }

    func waitForever() -> Bool {
        switch self {
        case .theirs(let semaphore): semaphore.wait(timeout: .distantFuture) == .success
        case .dropIn(let semaphore): semaphore.wait(timeout: .distantFuture) == .success
        case .ours(let semaphore): semaphore.wait(timeout: .seconds(Int64.max)) == .success
        }
    }

    /// Whether somebody waited for the permit.
    @discardableResult
    func signal() -> Bool {
        switch self {
        case .theirs(let semaphore): semaphore.signal() != 0
        case .dropIn(let semaphore): semaphore.signal() != 0
        case .ours(let semaphore): semaphore.signal()
        }
    }
}

extension Surface {
    func semaphore(_ value: Int) -> Semaphore {
        switch self {
        case .libdispatch: .theirs(DispatchSemaphore(value: value))
        case .dropIn: .dropIn(DropIn.DispatchSemaphore(value: value))
        case .overdrive: .ours(CountingSemaphore(value: value))
        }
    }
}
