/// The word that the Swift runtime leaves to the executor in each job that waits: whose of ours the job is.
///
/// It rests on a job being a pointer, and on the word standing behind the object's header, as `swift/ExecutorImpl.h`
/// of the toolchain has it; a test compares both with the runtime's own answers.
package enum JobWord {
    /// Whose a job is.
    enum Owner {
        case scheduler
        case actors(TaskQueue.ActorExecutor)
        case tasks(TaskQueue.PreferredExecutor)
    }

    package static let offset = 2 * MemoryLayout<UInt>.size
    private static let ofActors: UInt = 1

    /// Notes the owner; a queue's executor at +1.
    static func set(_ owner: Owner, in job: UnownedJob) {
        let word: UInt =
            switch owner {
            case .scheduler: 0
            case .actors(let executor): unsafe UInt(bitPattern: Unmanaged.passRetained(executor).toOpaque()) | ofActors
            case .tasks(let executor): unsafe UInt(bitPattern: Unmanaged.passRetained(executor).toOpaque())
            }
        unsafe unsafeBitCast(job, to: UnsafeMutableRawPointer.self).storeBytes(of: word, toByteOffset: offset, as: UInt.self)
    }

    /// What ``set(_:in:)`` noted, once.
    static func take(from job: UnsafeMutableRawPointer) -> Owner {
        let word = unsafe job.load(fromByteOffset: offset, as: UInt.self)
        guard let object = unsafe UnsafeRawPointer(bitPattern: word & ~ofActors) else { return .scheduler }
        return unsafe word & ofActors == 0
            ? .tasks(Unmanaged.fromOpaque(object).takeRetainedValue())
            : .actors(Unmanaged.fromOpaque(object).takeRetainedValue())
    }
}
