/// A place for one value, whose type and whether it is there somebody else knows. It is two words large; a larger
/// value is in memory of its own.
///
/// Not an `Optional<T>`, for which code that does not know T asks the runtime, once in each task's life.
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

    /// Once, while the place is empty.
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

    /// While it is full.
    @inlinable
    func value<T>(of type: T.Type) -> T {
        // Of a copy, bit by bit, while the original is there: not an access to change it.
        unsafe withUnsafePointer(to: self) { unsafe ValuePlace.value(at: $0, of: T.self).pointee }
    }

    /// The last use, while it is full.
    @inlinable
    mutating func empty<T>(of type: T.Type) {
        unsafe withUnsafeMutablePointer(to: &self) { place in
            let value = unsafe ValuePlace.value(at: place, of: T.self)
            unsafe value.deinitialize(count: 1)
            if !ValuePlace.hasRoom(for: T.self) { unsafe value.deallocate() }
        }
    }
}
