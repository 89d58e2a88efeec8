// Owns storage for one value of a type that the caller knows. Only Task uses it. It does not record whether a value
// is present.

/// Stores one value. The caller knows the type, and whether a value is present. Values of more than two words are
/// allocated separately.
///
/// An `Optional<T>` would cost a lookup of type metadata in each task, in code that does not know T.
@usableFromInline
struct ValuePlace {
    @usableFromInline var words: (UInt, UInt) = (0, 0)

    @inlinable
    init() {}

    @inlinable
    static func hasRoom<T>(for type: T.Type) -> Bool {
        MemoryLayout<T>.size <= MemoryLayout<(UInt, UInt)>.size && MemoryLayout<T>.alignment <= MemoryLayout<UInt>.alignment
    }

    @inlinable
    static func value<T>(at place: UnsafePointer<ValuePlace>, of type: T.Type) -> UnsafeMutablePointer<T> {
        let place = unsafe UnsafeMutableRawPointer(mutating: place)
        guard !hasRoom(for: T.self) else { return unsafe place.assumingMemoryBound(to: T.self) }
        return unsafe place.load(as: UnsafeMutableRawPointer.self).assumingMemoryBound(to: T.self)
    }

    /// Stores the value. Call once, while the storage is empty.
    @inlinable
    mutating func fill<T>(with value: T) {
        unsafe withUnsafeMutablePointer(to: &self) { place in
            if !ValuePlace.hasRoom(for: T.self) {
                unsafe UnsafeMutableRawPointer(place).storeBytes(
                    of: UnsafeMutableRawPointer(UnsafeMutablePointer<T>.allocate(capacity: 1)),
                    as: UnsafeMutableRawPointer.self)
            }
            unsafe ValuePlace.value(at: place, of: T.self).initialize(to: value)
        }
    }

    /// Returns a copy of the value. Call only while a value is present.
    @inlinable
    func value<T>(of type: T.Type) -> T {
        // This reads through a bitwise copy of the words. The original remains valid, and no exclusive access is
        // needed.
        unsafe withUnsafePointer(to: self) { unsafe ValuePlace.value(at: $0, of: T.self).pointee }
    }

    /// Destroys the value. Call once, as the last use.
    @inlinable
    mutating func empty<T>(of type: T.Type) {
        // For code that does not know T, this test takes fewer instructions than a deinitialisation that does nothing.
        if ValuePlace.hasRoom(for: T.self), _isPOD(T.self) { return }
        unsafe withUnsafeMutablePointer(to: &self) { place in
            let value = unsafe ValuePlace.value(at: place, of: T.self)
            unsafe value.deinitialize(count: 1)
            if !ValuePlace.hasRoom(for: T.self) { unsafe value.deallocate() }
        }
    }
}
