internal import CScheduler
public import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A mutex that a forked child can go on with.
///
/// `Synchronization.Mutex` it cannot: that names its holder by a thread's number. Who comes to one that another thread of the parent
/// held ends the process, and so does the child's first thread, which goes by its parent's number, where another one waits for it. Here
/// the word says in which process its holder is, and what a thread of another process holds is free. The value is as that thread left
/// it, perhaps between two steps: one of a word is whole, of a collection nothing is known; see ``withLock(orAnew:_:)``.
@safe @usableFromInline package struct Locked<Value>: ~Copyable, Sendable {
    /// The room for the word, and for the value behind it: the mutex in it is left alone.
    @usableFromInline let room: Mutex<Value>

    @inlinable package init(_ value: consuming sending Value) {
        room = Mutex(value)
    }

    @inlinable @inline(__always)
    package borrowing func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        let word = unsafe withUnsafePointer(to: room) { unsafe UnsafeRawPointer($0) }
        _ = unsafe LockWord.acquire(word)
        defer { unsafe LockWord.release(word) }
        return try unsafe body(&value(behind: word).pointee)
    }

    /// The same with a value that has several words: `anew` takes its place where a thread of another process has left it, perhaps
    /// between two steps. What it was is not taken apart.
    package borrowing func withLock<R>(orAnew anew: Value, _ body: (inout Value) -> R) -> R {
        let word = unsafe withUnsafePointer(to: room) { unsafe UnsafeRawPointer($0) }
        let value = unsafe value(behind: word)
        if unsafe LockWord.acquire(word) { unsafe value.initialize(to: anew) }
        defer { unsafe LockWord.release(word) }
        return unsafe body(&value.pointee)
    }

    @inlinable borrowing func value(behind word: UnsafeRawPointer) -> UnsafeMutablePointer<Value> {
        let before = max(MemoryLayout<UInt32>.size, MemoryLayout<Value>.alignment)
        return unsafe UnsafeMutableRawPointer(mutating: word + before).assumingMemoryBound(to: Value.self)
    }
}

/// The words of locks, by their addresses.
///
///     0                          acquire -> held
///     held, this process's own   release -> 0; who goes to sleep -> held + 1
///     held + 1                   release -> 0, and who sleeps is woken
///     another process's          acquire -> held
@usableFromInline package enum LockWord {
    @inlinable static var awaited: UInt32 { 1 }
    private static let spins = 100

    /// What the words of locks are that are held: another number in a forked child, before anything else runs there. 0: nobody has
    /// taken a lock yet.
    @usableFromInline static let held = Atomic<UInt32>(0)

    /// Before the first lock is taken.
    @usableFromInline @inline(never)
    static func begin() -> UInt32 {
        _ = (unsafe beds, isCounting)
        return held.load(ordering: .relaxed)
    }

    private static let isCounting: Bool = {
        let isTold = pthread_atfork(nil, nil, {
            LockWord.held.wrappingAdd(LockWord.awaited + 1, ordering: .relaxed)
            unsafe LockWord.beds.initialize(repeating: Bed(), count: LockWord.bedCount)
        }) == 0
        held.store(awaited + 1, ordering: .relaxed)
        return isTold
    }()

    /// Takes the lock, perhaps from a thread of another process: whether that is so.
    @inlinable @inline(__always)
    package static func acquire(_ address: UnsafeRawPointer) -> Bool {
        var mine = held.load(ordering: .relaxed)  // relaxed, all of them: it stays as it is while there are threads
        if mine == 0 { mine = begin() }
        let word = unsafe address.assumingMemoryBound(to: Atomic<UInt32>.self)
        let isMine = unsafe word.pointee.compareExchange(
            expected: 0, desired: mine, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged
        return unsafe isMine ? false : acquireHeld(word, mine)
    }

    @usableFromInline @inline(never)
    static func acquireHeld(_ word: UnsafePointer<Atomic<UInt32>>, _ mine: UInt32) -> Bool {
        var rounds = 0
        while true {
            let found = unsafe word.pointee.load(ordering: .relaxed)  // relaxed: the exchanges decide
            rounds += 1
            if found & ~awaited != mine {
                if unsafe word.pointee.compareExchange(
                    expected: found, desired: mine, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged {
                    return found != 0
                }
            } else if rounds > spins, unsafe found & awaited != 0 || word.pointee.compareExchange(
                expected: found, desired: mine | awaited, ordering: .relaxed).exchanged {
                unsafe sleep(while: word, is: mine | awaited)
            }
        }
    }

    @inlinable @inline(__always)
    package static func release(_ address: UnsafeRawPointer) {
        let word = unsafe address.assumingMemoryBound(to: Atomic<UInt32>.self)
        if unsafe word.pointee.exchange(0, ordering: .releasing) & awaited != 0 { unsafe wake(address) }
    }

    // MARK: - Sleeping

    /// Where those sleep whose words have some address in common.
    @unsafe private struct Bed {
        var mutex = unsafe pthread_mutex_t(), isFree = pthread_cond_t()
    }
    private static let bedCount = 64
    private nonisolated(unsafe) static let beds = {
        let beds = UnsafeMutablePointer<Bed>.allocate(capacity: bedCount)
        unsafe beds.initialize(repeating: Bed(), count: bedCount)  // zeros are what the C library's initialisers are
        return unsafe beds
    }()

    private static func bed(of address: UnsafeRawPointer) -> UnsafeMutablePointer<Bed> {
        unsafe beds + Int(bitPattern: address) >> 4 & (bedCount - 1)
    }

    private static func sleep(while word: UnsafePointer<Atomic<UInt32>>, is value: UInt32) {
        let bed = unsafe bed(of: word)
        // Who is cancelled (pthread_cancel) ends at a place of the program's, and not here, with the bed's mutex.
        var state: Int32 = 0
        unsafe pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
        unsafe pthread_mutex_lock(&bed.pointee.mutex)
        // Ended by: a release, which wakes with the bed's mutex held.
        if unsafe word.pointee.load(ordering: .relaxed) == value { unsafe pthread_cond_wait(&bed.pointee.isFree, &bed.pointee.mutex) }
        unsafe pthread_mutex_unlock(&bed.pointee.mutex)
    }

    @usableFromInline @inline(never)
    static func wake(_ address: UnsafeRawPointer) {
        let bed = unsafe bed(of: address)
        unsafe pthread_mutex_lock(&bed.pointee.mutex)
        unsafe pthread_cond_broadcast(&bed.pointee.isFree)
        unsafe pthread_mutex_unlock(&bed.pointee.mutex)
    }
}

/// A value that a continuation takes from one thread to another, in an order that Swift's runtime makes with atomics of its own,
/// which the thread sanitizer does not see. `token` is any object that both know. Nothing where that does not watch.
enum Handoff {
    @inline(__always) static func sends(by token: AnyObject) {
        #if THREAD_SANITIZER
            unsafe od_section_ends(Unmanaged.passUnretained(token).toOpaque())
        #endif
    }
    @inline(__always) static func received(by token: AnyObject) {
        #if THREAD_SANITIZER
            unsafe od_section_begins(Unmanaged.passUnretained(token).toOpaque())
        #endif
    }
}
