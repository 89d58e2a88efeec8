// Owns a thread-safe set of objects, stored in the engine. `Overdrive` keeps the tasks of a queue in it. It never
// retains an object.

internal import CScheduler

/// A set of objects, each with its own slot number, backed by a registry of the engine.
@safe package struct Registry: ~Copyable, @unchecked Sendable {
    // The engine's registry is thread-safe, and the pointer never changes.
    private let handle: OpaquePointer

    package init() {
        guard let handle = unsafe od_registry_create() else { trap("TaskQueue.add(task:): out of memory. Raise the memory limit.") }
        unsafe self.handle = handle
    }

    deinit {
        unsafe od_registry_release(handle)
    }

    /// Adds an object and returns its slot number, which is not 0.
    package func add(_ object: UnsafeMutableRawPointer) -> UInt64 {
        let place = unsafe od_registry_add(handle, object)
        if place == 0 { trap("TaskQueue.add(task:): out of memory. Raise the memory limit.") }
        return place
    }

    /// Removes the object of a slot. Returns whether the registry may now be empty.
    package func remove(_ place: UInt64) -> Bool {
        unsafe od_registry_remove(handle, place)
    }

    package var isEmpty: Bool { unsafe od_registry_is_empty(handle) }

    /// Returns all objects, each retained before another thread can remove it.
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
