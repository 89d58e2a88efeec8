internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The sort of strings.
///
/// What a comparison of two strings costs is the way to their bytes, which lie anywhere. So each string is visited once for
/// eight of its bytes, not once for each comparison: these come to lie beside it as a number, by which all are sorted; those
/// that have a number in common are sorted by their next eight bytes. (Multikey quicksort: Bentley, Sedgewick, SODA 1997,
/// with cached characters as Ng and Kakehi have them, IEICE 2007.)
///
/// Only for strings that are ASCII all through: the order of others is that of their normal forms, not of their bytes.
/// Strings that are equal cannot be told apart then, so this sort is stable, too.
@usableFromInline
enum StringSorting {
    /// Fewer are not worth the room.
    @usableFromInline static var least: Int { 256 }

    /// Beyond so many bytes in common strings are compared as they are: the way there is a call inside of another.
    private static let deepest = 1024

    private struct Entry {
        /// The eight bytes from somewhere on, the first one highest; zeros after the end.
        var key: UInt64
        var string: String
    }

    private struct ByKey: Order {
        @inline(__always)
        func precedes(_ a: Entry, _ b: Entry) -> Bool { a.key < b.key }
    }

    /// Of strings that are equal but for the zeros at their ends, which the shorter ones have fewer of.
    private struct ByLength: Order {
        @inline(__always)
        func precedes(_ a: Entry, _ b: Entry) -> Bool { a.string.utf8.count < b.string.utf8.count }
    }

    /// Of strings that have `depth` bytes in common.
    private struct ByRest: Order {
        let depth: Int

        @inline(__always)
        func precedes(_ a: Entry, _ b: Entry) -> Bool {
            unsafe withBytes(of: a.string) { a in
                unsafe withBytes(of: b.string) { b in
                    let common = Swift.min(a.count, b.count) - depth
                    if common > 0, let left = a.baseAddress, let right = b.baseAddress {
                        let order = unsafe memcmp(left + depth, right + depth, common)
                        if order != 0 { return order < 0 }
                    }
                    return a.count < b.count
                }
            }
        }
    }

    /// Sorts strings that are ASCII all through. False: some are not, and all are where they were.
    @usableFromInline
    static func sort(_ strings: UnsafeMutablePointer<String>, _ count: Int) -> Bool {
        // Most often the first ones say it.
        for place in 0..<Swift.min(count, 16) where unsafe !isPlain(strings[place]) { return false }
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        defer { unsafe entries.deallocate() }
        let arePlain = Atomic(true)
        nonisolated(unsafe) let (from, to) = unsafe (strings, entries)
        Loop(grain: nil).run(0..<count, chunk: 64) { part in
            var isAscii = arePlain.load(ordering: .relaxed)  // Relaxed: it is asked after the loop's join.
            for place in part {
                let string = unsafe (from + place).move()
                if isAscii { isAscii = isPlain(string) }
                unsafe (to + place).initialize(to: Entry(key: isAscii ? key(of: string, from: 0) : 0, string: string))
            }
            if !isAscii { arePlain.store(false, ordering: .relaxed) }  // Relaxed: as above.
        }
        let areSorted = arePlain.load(ordering: .relaxed)  // Relaxed: as above.
        if areSorted { unsafe sort(entries, count, depth: 0) }
        Loop(grain: nil).run(0..<count, chunk: 64) { part in
            for place in part { unsafe (from + place).initialize(to: (to + place).move().string) }
        }
        return areSorted
    }

    /// Sorts entries that have `depth` bytes in common, and the next in their keys.
    private static func sort(_ base: UnsafeMutablePointer<Entry>, _ count: Int, depth known: Int) {
        var depth = known
        while true {
            unsafe Sorting.unstable(base, count, ByKey())
            if unsafe base[0].key != base[count - 1].key { return unsafe sortRuns(base, count, depth: depth) }
            depth += 8
            guard unsafe goOn(base, count, from: depth) else { return }
        }
    }

    /// Sorts each run of entries that have their keys in common.
    private static func sortRuns(_ base: UnsafeMutablePointer<Entry>, _ count: Int, depth: Int) {
        if count < Sorting.alone {
            var first = 0
            while first < count {
                var end = first + 1
                while unsafe end < count && base[end].key == base[first].key { end += 1 }
                unsafe sortRun(base + first, end - first, depth: depth)
                first = end
            }
            return
        }
        // Where the run in the middle ends, or else where it begins: nobody has changed a key here yet.
        let middle = unsafe base[count / 2].key
        var cut = unsafe Sorting.firstPlace(base, count) { $0.key > middle }
        if cut == count { cut = unsafe Sorting.firstPlace(base, count) { $0.key >= middle } }
        if cut == 0 { return unsafe sortRun(base, count, depth: depth) }
        nonisolated(unsafe) let entries = unsafe base
        Parallel.both {
            unsafe sortRuns(entries, cut, depth: depth)
        } _: {
            unsafe sortRuns(entries + cut, count - cut, depth: depth)
        }
    }

    /// Sorts entries that have their keys in common.
    private static func sortRun(_ base: UnsafeMutablePointer<Entry>, _ count: Int, depth: Int) {
        if count == 1 { return }
        if unsafe goOn(base, count, from: depth + 8) { unsafe sort(base, count, depth: depth + 8) }
    }

    /// Gives entries that have all before `depth` in common their next keys. False: they are sorted.
    private static func goOn(_ base: UnsafeMutablePointer<Entry>, _ count: Int, from depth: Int) -> Bool {
        if count <= Sorting.small {
            unsafe Sorting.insertion(base, count, ByRest(depth: depth))
            return false
        }
        if depth > deepest {
            unsafe Sorting.unstable(base, count, ByRest(depth: depth))
            return false
        }
        if unsafe takeKeys(base, count, from: depth) { return true }
        unsafe Sorting.unstable(base, count, ByLength())
        return false
    }

    /// Returns whether any has a byte more.
    private static func takeKeys(_ base: UnsafeMutablePointer<Entry>, _ count: Int, from depth: Int) -> Bool {
        nonisolated(unsafe) let entries = unsafe base
        @inline(__always)
        func take(_ part: Range<Int>) -> Bool {
            var goesOn = false
            for place in part {
                if unsafe entries[place].string.utf8.count > depth { goesOn = true }
                unsafe entries[place].key = key(of: entries[place].string, from: depth)
            }
            return goesOn
        }
        if count < Sorting.alone { return take(0..<count) }
        let goesOn = Atomic(false)
        Loop(grain: nil).run(0..<count, chunk: 64) { part in
            if take(part) { goesOn.store(true, ordering: .relaxed) }  // Relaxed: the loop's join orders it.
        }
        return goesOn.load(ordering: .relaxed)  // Relaxed: as above.
    }

    // MARK: - Bytes

    @inline(__always)
    private static func withBytes<R>(of string: String, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        guard let result = unsafe string.utf8.withContiguousStorageIfAvailable(body) else {
            trap("Parallel.sort: a string has no bytes")  // `isPlain` has found them
        }
        return result
    }

    private static func isPlain(_ string: String) -> Bool {
        unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
            guard let base = unsafe UnsafeRawPointer(bytes.baseAddress) else { return true }
            var all: UInt64 = 0
            var place = 0
            while place + 8 <= bytes.count {
                unsafe all |= base.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                place += 8
            }
            while place < bytes.count {
                unsafe all |= UInt64(bytes[place])
                place += 1
            }
            return all & 0x8080_8080_8080_8080 == 0
        } ?? false
    }

    @inline(__always)
    private static func key(of string: String, from depth: Int) -> UInt64 {
        unsafe withBytes(of: string) { bytes in
            let left = bytes.count - depth
            guard left > 0, let base = unsafe UnsafeRawPointer(bytes.baseAddress) else { return 0 }
            if bytes.count >= 8 {
                // The next eight, or the last, without those before `depth`.
                let start = Swift.min(depth, bytes.count - 8)
                return unsafe UInt64(bigEndian: base.loadUnaligned(fromByteOffset: start, as: UInt64.self)) << UInt64(8 * (depth - start))
            }
            var key: UInt64 = 0
            for place in depth..<bytes.count { key = unsafe key << 8 | UInt64(bytes[place]) }
            return key << UInt64(8 * (8 - left))
        }
    }
}
