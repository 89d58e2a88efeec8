internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A value for each thread that takes part: counted, summed or filled without getting into each other's way.
///
///     let words = WorkerLocal { [String: Int]() }
///     Parallel.forEachChunk(0..<lines.count) { part in
///         words.with { counts in
///             for line in lines[part] { counts[line, default: 0] += 1 }
///         }
///     }
///     let counts = words.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
///
/// - Threading: Safe from any thread.
public final class WorkerLocal<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let thread: UInt
        var value: Value
    }

    /// One lock for some of the threads: two that are there at once seldom share one.
    private final class Shard: Sendable {
        let idle = Locked<[Entry]>([])
    }

    private let shards = (0..<64).map { _ in Shard() }
    private let make: @Sendable () -> Value

    /// Makes a store without values.
    ///
    /// - Parameter make: Makes a thread's value when it first asks for one.
    public init(_ make: @escaping @Sendable () -> Value) {
        self.make = make
    }

    /// Calls `body` with the calling thread's value.
    ///
    /// - Parameter body: May change the value; nobody else sees it meanwhile. Where it asks for the value again,
    ///   itself or in work that its thread does while it waits, it gets a further one.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Cost: Two locks that are nearly always free, about 40 ns: ask once for each chunk, not for each element.
    public func with<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        let thread = UInt(pthread_self())
        let shard = shards[Int(truncatingIfNeeded: (UInt64(thread) &* 0x9E37_79B9_7F4A_7C15) >> 58)]
        let own = shard.idle.withLock { idle in
            idle.lastIndex { $0.thread == thread }.map { idle.remove(at: $0) }
        }
        var entry = own ?? Entry(thread: thread, value: make())
        defer { shard.idle.withLock { $0.append(entry) } }
        return try body(&entry.value)
    }

    /// All values that were made and are not in use, in no order.
    public var values: [Value] {
        shards.flatMap { shard in shard.idle.withLock { $0.map(\.value) } }
    }
}

extension Parallel {
    /// Calls a closure for parts of a range, with something to work in.
    ///
    ///     Parallel.forEachChunk(0..<rows, scratch: { [Float](repeating: 0, count: width) }) { part, line in
    ///         for row in part { blur(row, using: &line) }
    ///     }
    ///
    /// - Parameters:
    ///   - range: What is divided.
    ///   - scheduler: Whose workers help: nil for the caller's own, or ``Scheduler/shared`` where it has none.
    ///   - grain: Parts are at least so long, but for the last.
    ///   - placement: Whether parts of the range belong to NUMA nodes.
    ///   - progress: Counts the iterations that are done.
    ///   - scratch: Makes what a thread works in, once for each thread that takes part.
    ///   - body: Called with parts that do not overlap. It finds the scratch as the thread's last part left it.
    /// - Throws: The first error, as ``forEach(_:on:grain:placement:progress:_:)``.
    /// - Ordering: In no order.
    /// - Threading: Any thread, which takes part.
    /// - Cost: As ``forEach(_:on:grain:placement:progress:_:)``, and two locks of its own for each chunk.
    public static func forEachChunk<Scratch: Sendable, E: Error>(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        progress: Progress? = nil, scratch: @Sendable () -> Scratch,
        _ body: @Sendable (Range<Int>, inout Scratch) throws(E) -> Void
    ) throws(E) {
        let effort = Effort<E>(progress: progress)
        run(range, on: scheduler, grain: grain, placement: placement, effort, scratch: scratch, body)
        try effort.check()
    }

    /// Calls a closure for parts of a range, with something to work in, until it is cancelled; see
    /// ``forEach(_:on:grain:placement:token:progress:_:)``.
    public static func forEachChunk<Scratch: Sendable>(
        _ range: Range<Int>, on scheduler: Scheduler? = nil, grain: Int? = nil, placement: Placement = .anywhere,
        token: CancellationToken, progress: Progress? = nil, scratch: @Sendable () -> Scratch,
        _ body: @Sendable (Range<Int>, inout Scratch) throws -> Void
    ) throws {
        let effort = Effort<any Error>(token: token, progress: progress, endsWhenCancelled: true)
        run(range, on: scheduler, grain: grain, placement: placement, effort, scratch: scratch, body)
        try effort.checkCancelled()
    }

    private static func run<Scratch: Sendable, E: Error>(
        _ range: Range<Int>, on scheduler: Scheduler?, grain: Int?, placement: Placement, _ effort: Effort<E>,
        scratch: @Sendable () -> Scratch, _ body: @Sendable (Range<Int>, inout Scratch) throws(E) -> Void
    ) {
        withoutActuallyEscaping(scratch) { scratch in
            let scratches = WorkerLocal(scratch)
            run(range, on: scheduler, grain: grain, placement: placement, effort) { part throws(E) in
                try scratches.with { scratch throws(E) in try body(part, &scratch) }
            }
        }
    }
}
