// Owns the sort of ASCII strings. `Sorting` calls it for arrays of strings in their own order. It never sorts strings
// with other characters.

internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Sorts ASCII strings by eight bytes at a time.
///
/// The main cost of a string comparison is the access to the bytes, which lie anywhere in memory. So the sort reads
/// each string once per eight bytes, not once per comparison. The eight bytes become an integer key beside the
/// string, and the sort compares keys. Strings with equal keys are then sorted by their next eight bytes.
///
/// Algorithm: multikey quicksort (Bentley, Sedgewick, SODA 1997), with cached characters (Ng, Kakehi, IEICE 2007).
///
/// The sort accepts only strings that are entirely ASCII, because other strings compare by their normal forms, not
/// their bytes. Equal ASCII strings are indistinguishable, so the sort is also stable.
@usableFromInline
enum StringSorting {
    /// The minimum number of strings for which the extra memory pays off.
    @usableFromInline static var least: Int { 256 }

    /// Beyond this number of common bytes, strings are compared directly, because each key level is a nested call.
    private static let deepest = 1024

    private struct Entry {
        /// Eight bytes of the string from the current depth, first byte highest, with zeros after the end.
        var key: UInt64
        var string: String
    }

    private struct ByKey: Order {
        @inline(__always)
        func precedes(_ a: Entry, _ b: Entry) -> Bool { a.key < b.key }
    }

    /// An order for strings that differ only in the number of zero bytes at their ends.
    private struct ByLength: Order {
        @inline(__always)
        func precedes(_ a: Entry, _ b: Entry) -> Bool { a.string.utf8.count < b.string.utf8.count }
    }

    /// An order for strings that have their first `depth` bytes in common.
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

    /// Sorts strings that are all ASCII. Returns false, with all strings in their old places, if any string is not.
    @usableFromInline
    static func sort(_ strings: UnsafeMutablePointer<String>, _ count: Int) -> Bool {
        // Check the first 16 strings before any allocation: most arrays with other characters have one there.
        for place in 0..<Swift.min(count, 16) where unsafe !isPlain(strings[place]) { return false }
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        defer { unsafe entries.deallocate() }
        let arePlain = Atomic(true)
        nonisolated(unsafe) let (from, to) = unsafe (strings, entries)
        Loop(grain: nil).run(0..<count, chunk: 64) { part in
            var isAscii = arePlain.load(ordering: .relaxed) // Relaxed: the final check comes after the join of the loop.
            for place in part {
                let string = unsafe (from + place).move()
                if isAscii { isAscii = isPlain(string) }
                unsafe (to + place).initialize(to: Entry(key: isAscii ? key(of: string, from: 0) : 0, string: string))
            }
            if !isAscii { arePlain.store(false, ordering: .relaxed) } // Relaxed: as above.
        }
        let areSorted = arePlain.load(ordering: .relaxed)  // Relaxed: as above.
        if areSorted { unsafe sort(entries, count, depth: 0) }
        Loop(grain: nil).run(0..<count, chunk: 64) { part in
            for place in part { unsafe (from + place).initialize(to: (to + place).move().string) }
        }
        return areSorted
    }

    /// Sorts entries that have their first `depth` bytes in common, and the next eight bytes in their keys.
    private static func sort(_ base: UnsafeMutablePointer<Entry>, _ count: Int, depth known: Int) {
        var depth = known
        while true {
            unsafe Sorting.unstable(base, count, ByKey())
            if unsafe base[0].key != base[count - 1].key { return unsafe sortRuns(base, count, depth: depth) }
            depth += 8
            guard unsafe goOn(base, count, from: depth) else { return }
        }
    }

    /// Sorts each run of entries with equal keys by the following bytes.
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
        // Cut at the end of the middle run, or else at its start. No key of this range has been replaced yet.
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

    /// Sorts entries with equal keys by the following bytes.
    private static func sortRun(_ base: UnsafeMutablePointer<Entry>, _ count: Int, depth: Int) {
        if count == 1 { return }
        if unsafe goOn(base, count, from: depth + 8) { unsafe sort(base, count, depth: depth + 8) }
    }

    /// Loads the keys at `depth` of entries with equal earlier bytes. Returns false if the entries are already
    /// sorted.
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

    /// Loads the keys at `depth`. Returns true if any string is longer than `depth` bytes.
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
            if take(part) { goesOn.store(true, ordering: .relaxed) } // Relaxed: the join of the loop orders it.
        }
        return goesOn.load(ordering: .relaxed)  // Relaxed: as above.
    }

    // MARK: - Bytes

    @inline(__always)
    private static func withBytes<R>(of string: String, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        guard let result = unsafe string.utf8.withContiguousStorageIfAvailable(body) else {
            trap("Parallel.sort: a string has no bytes") // unreachable: `isPlain` has checked that the bytes are contiguous
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
                // Load the next eight bytes, or the last eight, and shift out the bytes before `depth`.
                let start = Swift.min(depth, bytes.count - 8)
                return unsafe UInt64(bigEndian: base.loadUnaligned(fromByteOffset: start, as: UInt64.self)) << UInt64(8 * (depth - start))
            }
            var key: UInt64 = 0
            for place in depth..<bytes.count { key = unsafe key << 8 | UInt64(bytes[place]) }
            return key << UInt64(8 * (8 - left))
        }
    }
}
