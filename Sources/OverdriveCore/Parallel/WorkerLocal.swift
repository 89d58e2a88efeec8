// Owns one value per thread for parallel loops. Programs and `forEachChunk(_:scratch:_:)` call it. It never locks
// across threads, except while `values` copies a value or `reset` replaces it.

public import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A value for each thread that takes part, which threads change without contention.
///
///     let words = WorkerLocal { [String: Int]() }
///     Parallel().forEachChunk(0..<lines.count) { part in
///         words.with { counts in
///             for line in lines[part] { counts[line, default: 0] += 1 }
///         }
///     }
///     let counts = words.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
///
/// - Threading: Any thread.
@safe public final class WorkerLocal<Value: Sendable>: Sendable {
    /// The storage of one value. It belongs to the thread that created it, and never moves.
    @usableFromInline
    @safe struct Place: ~Copyable {
        @usableFromInline let thread: UInt
        /// The next place of the shard. It is written before the place is published.
        @usableFromInline var next: UnsafeMutablePointer<Place>?
        /// The current user of the value, a constant of ``Holder``.
        @usableFromInline let holder: Atomic<UInt8>
        @usableFromInline var value: Value

        @usableFromInline
        init(of thread: UInt, before next: UnsafeMutablePointer<Place>?, _ value: consuming Value) {
            self.thread = thread
            unsafe self.next = next
            self.value = value
            holder = Atomic(Holder.owner)
        }
    }

    /// A list of places, newest first, for the threads whose hash selects this shard. Places live as long as the
    /// store.
    @usableFromInline
    @safe struct Shard: ~Copyable {
        @usableFromInline let first = unsafe Atomic<UnsafeMutablePointer<Place>?>(nil)

        init() {}
    }

    private static var shardCount: Int { 64 }

    // Allocated in `init`, freed in `deinit`, never replaced. The atomics inside control all access.
    @usableFromInline nonisolated(unsafe) let shards: UnsafeMutablePointer<Shard>
    private let make: @Sendable () -> Value

    /// Creates a store without values.
    ///
    /// - Parameter make: Makes the value of a thread, at that thread's first request.
    /// - Ordering: None. `make` runs on each requesting thread.
    /// - Threading: Any thread.
    /// - Cost: Two allocations, of which one has 512 bytes. The value of each thread takes at least 128 bytes.
    public init(_ make: @escaping @Sendable () -> Value) {
        self.make = make
        unsafe shards = .allocate(capacity: WorkerLocal.shardCount)
        for shard in 0..<WorkerLocal.shardCount { unsafe (shards + shard).initialize(to: Shard()) }
    }

    deinit {
        unsafe forEachPlace { place in
            unsafe place.deinitialize(count: 1)
            unsafe UnsafeMutableRawPointer(place).deallocate()
        }
        unsafe shards.deinitialize(count: WorkerLocal.shardCount)
        unsafe shards.deallocate()
    }

    /// Calls `body` with the calling thread's value in place.
    ///
    ///     sums.with { $0 += x }
    ///
    /// - Parameter body: May change the value, which no other thread uses during the call. A nested request on the
    ///   same thread gets another value, even in work that runs while the thread waits.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`.
    /// - Ordering: Writes to a value are visible to later calls of the same thread, and to `values` after the loop.
    /// - Threading: Any thread, worker or not. `body` may wait.
    /// - Cost: One locked instruction on a cache line that no other thread writes, less than 20 ns. The value is not
    ///   copied, regardless of its size.
    @inlinable
    public func with<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        let thread = threadWord()
        let shard = unsafe shards + Int(truncatingIfNeeded: (UInt64(thread) &* 0x9E37_79B9_7F4A_7C15) >> 58)
        // Acquire: pairs with the release in `add`, so that the fields of the places are visible.
        var next = unsafe shard.pointee.first.load(ordering: .acquiring)
        while let place = unsafe next {
            if unsafe place.pointee.thread == thread, unsafe take(place) { return try unsafe use(place, body) }
            unsafe next = place.pointee.next
        }
        return try unsafe use(add(of: thread, to: shard), body)
    }

    /// Runs `body` on a place that the caller has taken, and makes the place idle.
    @inlinable
    @inline(__always)
    func use<R, E: Error>(_ place: UnsafeMutablePointer<Place>, _ body: (inout Value) throws(E) -> R) throws(E) -> R {
        // Release: the next user of the value sees the writes of `body`.
        defer { unsafe place.pointee.holder.store(Holder.idle, ordering: .releasing) }
        return try unsafe body(&place.pointee.value)
    }

    /// Takes a place of the calling thread. Returns false if an outer call on this thread uses the value.
    @inlinable
    @inline(__always)
    func take(_ place: UnsafeMutablePointer<Place>) -> Bool {
        while true {
            // Acquire: pairs with the release of the last user of the value.
            let (taken, found) = unsafe place.pointee.holder.compareExchange(
                expected: Holder.idle, desired: Holder.owner, ordering: .acquiring)
            if taken { return true }
            if found == Holder.owner { return false }
            letOthersGoOn() // another thread uses the value for a moment
        }
    }

    /// Adds a new place of the calling thread, already taken by it.
    @usableFromInline
    func add(of thread: UInt, to shard: UnsafeMutablePointer<Shard>) -> UnsafeMutablePointer<Place> {
        let value = make()
        // The alignment avoids false sharing with other places.
        let room = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<Place>.size, alignment: max(128, MemoryLayout<Place>.alignment))
        let place = unsafe room.bindMemory(to: Place.self, capacity: 1)
        var first = unsafe shard.pointee.first.load(ordering: .relaxed) // Relaxed: the exchange below decides.
        unsafe place.initialize(to: Place(of: thread, before: first, value))
        while true {
            // Release: publishes the fields of the place.
            let (done, found) = unsafe shard.pointee.first.compareExchange(
                expected: first, desired: place, ordering: .releasing)
            if done { return unsafe place }
            unsafe first = found
            unsafe place.pointee.next = found
        }
    }

    private func forEachPlace(_ body: (UnsafeMutablePointer<Place>) -> Void) {
        for shard in 0..<WorkerLocal.shardCount {
            // Acquire: pairs with the release in `add`.
            var next = unsafe shards[shard].first.load(ordering: .acquiring)
            while let place = unsafe next {
                unsafe next = place.pointee.next
                unsafe body(place)
            }
        }
    }

    /// Copies of all values that no thread is using, in no particular order.
    public var values: [Value] {
        var values: [Value] = []
        unsafe forEachPlace { place in
            guard unsafe takeIdle(place) else { return }
            unsafe values.append(place.pointee.value)
            unsafe giveBack(place)
        }
        return values
    }

    /// Replaces all values that no thread is using by new ones, for the next loop.
    ///
    ///     for part in chunks {
    ///         Parallel.forEach(part) { number in sums.with { $0 += number } }
    ///         show(sums.values.reduce(0, +))
    ///         sums.reset()
    ///     }
    ///
    /// - Ordering: Later calls of ``with(_:)`` see the new values, if the loops before and after are ordered with this call.
    /// - Threading: Any thread. The calling thread makes the new values.
    /// - Cost: One new value for each thread that has taken part so far.
    public func reset() {
        unsafe forEachPlace { place in
            // Made before, and released after the place is taken: both may run code of the program, which may ask for it.
            var value = make()
            guard unsafe takeIdle(place) else { return }
            unsafe swap(&place.pointee.value, &value)
            unsafe giveBack(place)
        }
    }

    /// Takes the value of any thread. Returns false if its thread uses the value.
    private func takeIdle(_ place: UnsafeMutablePointer<Place>) -> Bool {
        while true {
            // Acquire: pairs with the release of the last user of the value. The release in `giveBack` returns the value.
            let (taken, found) = unsafe place.pointee.holder.compareExchange(
                expected: Holder.idle, desired: Holder.reader, ordering: .acquiring)
            if taken { return true }
            if found == Holder.owner { return false }
            letOthersGoOn() // another thread uses the value for a moment
        }
    }

    private func giveBack(_ place: UnsafeMutablePointer<Place>) {
        unsafe place.pointee.holder.store(Holder.idle, ordering: .releasing)
    }
}

/// The user of a place's value.
@usableFromInline
enum Holder {
    @inlinable static var idle: UInt8 { 0 }
    /// The thread that the place belongs to.
    @inlinable static var owner: UInt8 { 1 }
    /// A thread that copies the value for `values`, or replaces it.
    @inlinable static var reader: UInt8 { 2 }
}

/// A word that is unique among the live threads.
@usableFromInline func threadWord() -> UInt { UInt(pthread_self()) }

@usableFromInline func letOthersGoOn() { _ = sched_yield() }
