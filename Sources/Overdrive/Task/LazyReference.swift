internal import Synchronization

/// A reference that is set once, by whoever comes first. `AtomicLazyReference` is the same, but asks the runtime
/// for its type at every look, which takes longer than all the rest of a task.
@safe struct LazyReference<Instance: AnyObject>: ~Copyable {
    private let pointer = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// What was set, if anything was.
    @inline(__always)
    func load() -> Instance? {
        // Acquires what the instance was made of.
        guard let found = unsafe pointer.load(ordering: .acquiring) else { return nil }
        return unsafe Unmanaged<Instance>.fromOpaque(found).takeUnretainedValue()
    }

    /// The same for as long as `body` takes, while the owner is there: without a count of references, which all
    /// threads would change.
    @inline(__always)
    func withReference<R>(_ body: (Instance) -> R) -> R? {
        // Acquires what the instance was made of.
        guard let found = unsafe pointer.load(ordering: .acquiring) else { return nil }
        return unsafe Unmanaged<Instance>.fromOpaque(found)._withUnsafeGuaranteedRef(body)
    }

    /// Whether it was set.
    var isSet: Bool {
        unsafe pointer.load(ordering: .relaxed) != nil  // relaxed: what it was made of is not looked at
    }

    /// Sets the reference unless it is set. Returns what is set then, for as long as the owner is there.
    func storeIfNil(_ instance: Instance) -> Unmanaged<Instance> {
        // Acquires what another was made of.
        if let found = unsafe pointer.load(ordering: .acquiring) { return unsafe Unmanaged<Instance>.fromOpaque(found) }
        let mine = unsafe Unmanaged.passRetained(instance)
        // Releases what the instance is made of, or acquires what another is.
        let (stored, found) = unsafe pointer.compareExchange(
            expected: nil, desired: mine.toOpaque(), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe found else { return unsafe mine }
        unsafe mine.release()
        return unsafe Unmanaged<Instance>.fromOpaque(found)
    }

    deinit {
        // Nobody else is here any more: the owner's deinit has seen to it.
        if let found = unsafe pointer.load(ordering: .acquiring) { unsafe Unmanaged<Instance>.fromOpaque(found).release() }
    }
}
