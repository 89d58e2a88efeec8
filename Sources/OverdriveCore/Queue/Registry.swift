internal import CScheduler

/// Objects that somebody keeps, each by a place of its own, one after another: the engine's, for what `Overdrive` knows
/// of a queue.
@safe package struct Registry: ~Copyable, @unchecked Sendable {
    // The engine's registry is safe to share between threads; the pointer never changes.
    private let handle: OpaquePointer

    package init() {
        guard let handle = unsafe od_registry_create() else { trap("TaskQueue.add(task:): out of memory. Raise the memory limit.") }
        unsafe self.handle = handle
    }

    deinit {
        unsafe od_registry_release(handle)
    }

    /// Returns the object's place, which is not 0.
    package func add(_ object: UnsafeMutableRawPointer) -> UInt64 {
        let place = unsafe od_registry_add(handle, object)
        if place == 0 { trap("TaskQueue.add(task:): out of memory. Raise the memory limit.") }
        return place
    }

    /// Returns whether the registry may be empty now.
    package func remove(_ place: UInt64) -> Bool {
        unsafe od_registry_remove(handle, place)
    }

    package var isEmpty: Bool { unsafe od_registry_is_empty(handle) }

    /// All objects, retained while they are there.
    package func all<Object: AnyObject>(of type: Object.Type) -> [Object] {
        var found: [AnyObject] = []
        unsafe withUnsafeMutablePointer(to: &found) { found in
            unsafe od_registry_each(handle, { found, object in
                guard let found = unsafe found, let object = unsafe object else { return }
                unsafe found.assumingMemoryBound(to: [AnyObject].self).pointee
                    .append(Unmanaged<AnyObject>.fromOpaque(object).takeUnretainedValue())
            }, unsafe found)
        }
        return found.map { unsafe unsafeDowncast($0, to: Object.self) }
    }
}
