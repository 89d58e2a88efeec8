// Owns drop-in channels. libdispatch reads and writes; the handlers run on Overdrive's queues.

public import Dispatch
public import Glibc

/// Reads and writes a file. libdispatch performs the operations, and Overdrive's queues run the handlers in the same
/// order.
///
///     let log = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: journal) { _ in close(descriptor) }
///     log.write(offset: 0, data: line, queue: journal) { isDone, left, error in … }
///
/// - Threading: Safe from any thread.
/// - Cost: The cost of libdispatch, and one submission for each call of a handler.
public final class DispatchIO: DispatchObject, @unchecked Sendable {
    private let theirs: Dispatch.DispatchIO
    /// Counts calls of the channel's handlers that have not returned. The cleanup handler waits for them.
    private let calls: DispatchGroup

    /// The access to the file: from front to end, or at any offset.
    public typealias StreamType = Dispatch.DispatchIO.StreamType
    /// The options for closing a channel.
    public typealias CloseFlags = Dispatch.DispatchIO.CloseFlags
    /// The options for calling handlers at intervals.
    public typealias IntervalFlags = Dispatch.DispatchIO.IntervalFlags

    private init(_ theirs: Dispatch.DispatchIO, _ calls: DispatchGroup) {
        self.theirs = theirs
        self.calls = calls
    }

    /// Creates a channel on a descriptor. The channel owns the descriptor until the cleanup handler is called on
    /// `queue`, after all read and write handlers have returned.
    public convenience init(
        type: StreamType, fileDescriptor: Int32, queue: DispatchQueue, cleanupHandler: @escaping (_ error: Int32) -> Void
    ) {
        let calls = DispatchGroup()
        self.init(
            Dispatch.DispatchIO(type: type, fileDescriptor: fileDescriptor, queue: Relay.watching) { error in
                calls.notify(queue: queue) { cleanupHandler(error) }
            }, calls)
    }

    /// Creates a channel on a file by its path. The first read or write opens the file. Returns nil if the path is
    /// not absolute.
    public convenience init?(
        type: StreamType, path: UnsafePointer<Int8>, oflag: Int32, mode: mode_t, queue: DispatchQueue,
        cleanupHandler: @escaping (_ error: Int32) -> Void
    ) {
        // libdispatch makes no channel for a relative path, and its Swift overlay would not detect the missing
        // object.
        guard unsafe path.pointee == UInt8(ascii: "/") else { return nil }
        let calls = DispatchGroup()
        let made: Dispatch.DispatchIO? = unsafe Dispatch.DispatchIO(
            type: type, path: path, oflag: oflag, mode: mode, queue: Relay.watching
        ) { error in calls.notify(queue: queue) { cleanupHandler(error) } }
        guard let made else { return nil }
        self.init(made, calls)
    }

    /// Creates a channel on the file of another channel.
    public convenience init(
        type: StreamType, io: DispatchIO, queue: DispatchQueue, cleanupHandler: @escaping (_ error: Int32) -> Void
    ) {
        let calls = DispatchGroup()
        self.init(
            Dispatch.DispatchIO(type: type, io: io.theirs, queue: Relay.watching) { error in
                calls.notify(queue: queue) { cleanupHandler(error) }
            }, calls)
    }

    /// Reads once from a descriptor.
    public static func read(
        fromFileDescriptor: Int32, maxLength: Int, runningHandlerOn queue: DispatchQueue,
        handler: @escaping (_ data: DispatchData, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue)
        Dispatch.DispatchIO.read(
            fromFileDescriptor: fromFileDescriptor, maxLength: maxLength, runningHandlerOn: Relay.watching
        ) { data, error in relay.forward { handler(data, error) } }
    }

    /// Writes once to a descriptor.
    public static func write(
        toFileDescriptor: Int32, data: DispatchData, runningHandlerOn queue: DispatchQueue,
        handler: @escaping (_ data: DispatchData?, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue)
        Dispatch.DispatchIO.write(toFileDescriptor: toFileDescriptor, data: data, runningHandlerOn: Relay.watching) {
            data, error in relay.forward { handler(data, error) }
        }
    }

    /// Reads `length` bytes from `offset` on. The handler is called as data arrives, and once with `done`.
    public func read(
        offset: off_t, length: Int, queue: DispatchQueue,
        ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue, countedBy: calls)
        theirs.read(offset: offset, length: length, queue: Relay.watching) { done, data, error in
            relay.forward { ioHandler(done, data, error) }
        }
    }

    /// Writes `data` at `offset`. The handler is called during the operation with the remaining data, and once with
    /// `done`.
    public func write(
        offset: off_t, data: DispatchData, queue: DispatchQueue,
        ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue, countedBy: calls)
        theirs.write(offset: offset, data: data, queue: Relay.watching) { done, data, error in
            relay.forward { ioHandler(done, data, error) }
        }
    }

    /// Sets the largest number of bytes for each call of a handler.
    public func setLimit(highWater: Int) {
        theirs.setLimit(highWater: highWater)
    }

    /// Sets the smallest number of bytes for each call of a handler, except the last.
    public func setLimit(lowWater: Int) {
        theirs.setLimit(lowWater: lowWater)
    }

    /// Sets the interval at which handlers are called even if little data has arrived.
    public func setInterval(interval: DispatchTimeInterval, flags: IntervalFlags = []) {
        theirs.setInterval(interval: interval, flags: flags)
    }

    /// Closes the channel to further operations. With `.stop`, unfinished operations end too.
    public func close(flags: CloseFlags = []) {
        theirs.close(flags: flags)
    }

    /// Runs `execute` after all earlier operations and before all later ones.
    public func barrier(execute: @escaping () -> Void) {
        theirs.barrier(execute: execute)
    }

    /// Sets the target of libdispatch's channel, and of the closures of ``barrier(execute:)``.
    public override func setTarget(queue: DispatchQueue) {
        theirs.setTarget(queue: queue.underlying)
    }

    /// The channel's descriptor; -1 once the channel is closed.
    public var fileDescriptor: Int32 { theirs.fileDescriptor }
}

/// Forwards the handler calls of one operation from libdispatch to an Overdrive queue, in order.
private struct Relay {
    private let target: DispatchQueue
    private let calls: DispatchGroup?
    // All operations share this queue, so that handlers of a channel are forwarded in the order in which operations
    // end.
    static let watching = Dispatch.DispatchQueue(label: "overdrive.watching.io")

    init(to target: DispatchQueue, countedBy calls: DispatchGroup? = nil) {
        self.calls = calls
        // The handler of an operation is called one call at a time and in order, even on a concurrent queue.
        self.target = target.isConcurrent ? DispatchQueue(label: "overdrive.io", target: target) : target
    }

    func forward(_ work: @escaping () -> Void) {
        // The closure is passed from this thread to the queue, which calls it once.
        nonisolated(unsafe) let work = work
        target.async(group: calls) { unsafe work() }
    }
}
