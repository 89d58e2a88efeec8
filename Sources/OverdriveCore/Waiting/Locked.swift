// Owns a mutex that survives a fork. The libraries use it instead of `Mutex`. It never blocks a
// forked child on a lock of its parent.

internal import CScheduler
public import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A mutex that a forked child can continue to use.
///
/// `Synchronization.Mutex` stores its holder as a thread number. If another thread of the parent held the mutex at the
/// fork, a child that locks it ends with an error. The child's first thread still uses the parent's thread number. So it
/// ends with an error, too, when another thread waits for a mutex that it holds.
///
/// Here the lock word also identifies the holder's process. A lock that a thread of another process holds counts as
/// free. Its value is as that thread left it, perhaps half changed: a one-word value is intact, but a collection may
/// not be. See ``withLock(orAnew:_:)``.
@safe @usableFromInline package struct Locked<Value>: ~Copyable, Sendable {
    /// Memory for the lock word, followed by the value. The `Mutex` only provides the memory and is never locked.
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

    /// Calls `body` with the lock held, for values of several words. If a thread of another process has left the
    /// value, perhaps half changed, `anew` replaces it. The old value is not destroyed.
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

/// The states and transitions of a lock word, which is addressed by pointer.
///
///     0                     acquire -> held
///     held by this process  release -> 0; a thread that will sleep -> held + 1
///     held + 1              release -> 0, and wakes the sleepers
///     held by another       acquire -> held
@usableFromInline package enum LockWord {
    @inlinable static var awaited: UInt32 { 1 }
    private static let spins = 100

    /// The word of a held lock in this process. A forked child changes the number before it runs other code. 0 means
    /// that no lock has been taken yet.
    @usableFromInline static let held = Atomic<UInt32>(0)

    /// Initialises the static variables before the first lock is taken.
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

    /// Takes the lock. Returns whether it was taken from a thread of another process.
    @inlinable @inline(__always)
    package static func acquire(_ address: UnsafeRawPointer) -> Bool {
        var mine = held.load(ordering: .relaxed)  // Relaxed throughout: the value is constant while the process has threads
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
            let found = unsafe word.pointee.load(ordering: .relaxed)  // Relaxed: the exchanges below decide
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

    /// The sleeping place for all lock words whose addresses share a hash.
    @unsafe private struct Bed {
        var mutex = unsafe pthread_mutex_t(), isFree = pthread_cond_t()
    }
    private static let bedCount = 64
    private nonisolated(unsafe) static let beds = {
        let beds = UnsafeMutablePointer<Bed>.allocate(capacity: bedCount)
        unsafe beds.initialize(repeating: Bed(), count: bedCount)  // zeros equal the static initialisers of the C library
        return unsafe beds
    }()

    private static func bed(of address: UnsafeRawPointer) -> UnsafeMutablePointer<Bed> {
        unsafe beds + Int(bitPattern: address) >> 4 & (bedCount - 1)
    }

    private static func sleep(while word: UnsafePointer<Atomic<UInt32>>, is value: UInt32) {
        if od_control_yield() { return }  // in a controlled run the holder waits for the baton
        let bed = unsafe bed(of: word)
        // Disable pthread_cancel here, so that a cancelled thread never ends with the bed's mutex held.
        var state: Int32 = 0
        unsafe pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
        unsafe pthread_mutex_lock(&bed.pointee.mutex)
        // The wait ends with a release of the lock, which broadcasts with the bed's mutex held.
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

/// Tells the thread sanitizer about a value that a continuation hands from one thread to another. The runtime orders
/// the two threads with atomics that the sanitizer does not see. `token` is any object that both threads know.
/// Without the sanitizer, the calls do nothing.
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
