// Owns the word in each Swift job that an executor may use. The executors of this folder write it at the submission
// and read it before the run. It never touches other fields of a job.

/// The word of a waiting job that the Swift runtime reserves for the executor. It stores the executor of the job.
///
/// This code assumes that a job is a pointer, and that the word follows the object header, as `swift/ExecutorImpl.h`
/// of the toolchain defines. A test checks both assumptions against the runtime.
package enum JobWord {
    /// The executor of a job.
    enum Owner {
        case scheduler
        case actors(TaskQueue.ActorExecutor)
        case tasks(TaskQueue.PreferredExecutor)
    }

    package static let offset = 2 * MemoryLayout<UInt>.size
    private static let ofActors: UInt = 1

    /// Stores the owner. The executor of a queue is retained until ``take(from:)``.
    static func set(_ owner: Owner, in job: UnownedJob) {
        let word: UInt =
            switch owner {
            case .scheduler: 0
            case .actors(let executor): unsafe UInt(bitPattern: Unmanaged.passRetained(executor).toOpaque()) | ofActors
            case .tasks(let executor): unsafe UInt(bitPattern: Unmanaged.passRetained(executor).toOpaque())
            }
        unsafe unsafeBitCast(job, to: UnsafeMutableRawPointer.self).storeBytes(of: word, toByteOffset: offset, as: UInt.self)
    }

    /// Returns the owner that ``set(_:in:)`` stored. Call once per job.
    static func take(from job: UnsafeMutableRawPointer) -> Owner {
        let word = unsafe job.load(fromByteOffset: offset, as: UInt.self)
        guard let object = unsafe UnsafeRawPointer(bitPattern: word & ~ofActors) else { return .scheduler }
        return unsafe word & ofActors == 0
            ? .tasks(Unmanaged.fromOpaque(object).takeRetainedValue())
            : .actors(Unmanaged.fromOpaque(object).takeRetainedValue())
    }
}
