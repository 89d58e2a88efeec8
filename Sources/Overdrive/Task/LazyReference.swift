// Owns an atomic reference that is set once. Tasks use it for their optional storage.

internal import Synchronization

/// A reference that the first caller sets. Unlike `AtomicLazyReference`, a read does not look up type metadata, which
/// takes longer than the rest of a task.
@safe struct LazyReference<Instance: AnyObject>: ~Copyable {
    private let pointer = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// Returns the object, if the reference is set.
    @inline(__always)
    func load() -> Instance? {
        // Acquires the object's initialisation.
        guard let found = unsafe pointer.load(ordering: .acquiring) else { return nil }
        return unsafe Unmanaged<Instance>.fromOpaque(found).takeUnretainedValue()
    }

    /// Calls `body` with the object, if there is one, while the owner is alive. It does not change a reference count,
    /// which all threads would contend for.
    @inline(__always)
    func withReference<R>(_ body: (Instance) -> R) -> R? {
        // Acquires the object's initialisation.
        guard let found = unsafe pointer.load(ordering: .acquiring) else { return nil }
        return unsafe Unmanaged<Instance>.fromOpaque(found)._withUnsafeGuaranteedRef(body)
    }

    /// Whether the reference is set.
    var isSet: Bool {
        unsafe pointer.load(ordering: .relaxed) != nil  // relaxed: the caller does not read the object
    }

    /// Sets the reference unless it is set. Returns the object now set, which is valid while the owner is alive.
    func storeIfNil(_ instance: Instance) -> Unmanaged<Instance> {
        // Acquires the initialisation of another thread's object.
        if let found = unsafe pointer.load(ordering: .acquiring) { return unsafe Unmanaged<Instance>.fromOpaque(found) }
        let mine = unsafe Unmanaged.passRetained(instance)
        // Releases this object's initialisation, or acquires that of another thread's object.
        let (stored, found) = unsafe pointer.compareExchange(
            expected: nil, desired: mine.toOpaque(), ordering: .acquiringAndReleasing)
        guard !stored, let found = unsafe found else { return unsafe mine }
        unsafe mine.release()
        return unsafe Unmanaged<Instance>.fromOpaque(found)
    }

    deinit {
        // No other thread accesses the owner during its deinitialisation.
        if let found = unsafe pointer.load(ordering: .acquiring) { unsafe Unmanaged<Instance>.fromOpaque(found).release() }
    }
}
