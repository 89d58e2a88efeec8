public import Dispatch
public import Glibc

/// A channel on a file: libdispatch reads and writes, our queues run the handlers, in its order.
///
///     let log = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: journal) { _ in close(descriptor) }
///     log.write(offset: 0, data: line, queue: journal) { isDone, left, error in … }
///
/// - Threading: Safe from any thread.
/// - Cost: libdispatch's, and one submission for each call of a handler.
public final class DispatchIO: DispatchObject, @unchecked Sendable {
    private let theirs: Dispatch.DispatchIO
    /// Calls of the channel's handlers that have not returned. The cleanup handler waits for them.
    private let calls: DispatchGroup

    /// How a channel reads: from front to end, or anywhere.
    public typealias StreamType = Dispatch.DispatchIO.StreamType
    /// How a channel ends.
    public typealias CloseFlags = Dispatch.DispatchIO.CloseFlags
    /// How strictly handlers are called at intervals.
    public typealias IntervalFlags = Dispatch.DispatchIO.IntervalFlags

    private init(_ theirs: Dispatch.DispatchIO, _ calls: DispatchGroup) {
        self.theirs = theirs
        self.calls = calls
    }

    /// A channel on a descriptor, which belongs to the channel until the cleanup handler is called, on `queue`. The cleanup
    /// handler comes after the last call of a read or write handler has returned.
    public convenience init(
        type: StreamType, fileDescriptor: Int32, queue: DispatchQueue, cleanupHandler: @escaping (_ error: Int32) -> Void
    ) {
        let calls = DispatchGroup()
        self.init(
            Dispatch.DispatchIO(type: type, fileDescriptor: fileDescriptor, queue: Relay.watching) { error in
                calls.notify(queue: queue) { cleanupHandler(error) }
            }, calls)
    }

    /// A channel on a file by its path, which is opened with the first read or write; nil when the path is not absolute.
    public convenience init?(
        type: StreamType, path: UnsafePointer<Int8>, oflag: Int32, mode: mode_t, queue: DispatchQueue,
        cleanupHandler: @escaping (_ error: Int32) -> Void
    ) {
        // libdispatch makes no channel for a relative path, and its Swift overlay does not notice.
        guard unsafe path.pointee == UInt8(ascii: "/") else { return nil }
        let calls = DispatchGroup()
        let made: Dispatch.DispatchIO? = unsafe Dispatch.DispatchIO(
            type: type, path: path, oflag: oflag, mode: mode, queue: Relay.watching
        ) { error in calls.notify(queue: queue) { cleanupHandler(error) } }
        guard let made else { return nil }
        self.init(made, calls)
    }

    /// A channel on the file of another channel.
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

    /// Reads `length` bytes from `offset` on; the handler is called as they come, and once with `done`.
    public func read(
        offset: off_t, length: Int, queue: DispatchQueue,
        ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue, countedBy: calls)
        theirs.read(offset: offset, length: length, queue: Relay.watching) { done, data, error in
            relay.forward { ioHandler(done, data, error) }
        }
    }

    /// Writes `data` at `offset`; the handler is called as it goes, with what is left, and once with `done`.
    public func write(
        offset: off_t, data: DispatchData, queue: DispatchQueue,
        ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
    ) {
        let relay = Relay(to: queue, countedBy: calls)
        theirs.write(offset: offset, data: data, queue: Relay.watching) { done, data, error in
            relay.forward { ioHandler(done, data, error) }
        }
    }

    /// At most so many bytes for each call of a handler.
    public func setLimit(highWater: Int) {
        theirs.setLimit(highWater: highWater)
    }

    /// At least so many bytes for each call of a handler, but for the last.
    public func setLimit(lowWater: Int) {
        theirs.setLimit(lowWater: lowWater)
    }

    /// How often handlers are called although little has come.
    public func setInterval(interval: DispatchTimeInterval, flags: IntervalFlags = []) {
        theirs.setInterval(interval: interval, flags: flags)
    }

    /// No more reads and writes; with `.stop` those under way end too.
    public func close(flags: CloseFlags = []) {
        theirs.close(flags: flags)
    }

    /// Runs `execute` between the operations asked for before and those after.
    public func barrier(execute: @escaping () -> Void) {
        theirs.barrier(execute: execute)
    }

    /// Puts libdispatch's part of the channel, and the blocks of ``barrier(execute:)``, on another queue.
    public override func setTarget(queue: DispatchQueue) {
        theirs.setTarget(queue: queue.underlying)
    }

    /// The channel's descriptor; -1 once it is closed.
    public var fileDescriptor: Int32 { theirs.fileDescriptor }
}

/// Takes one operation's calls from libdispatch to a queue of ours, in their order.
private struct Relay {
    private let target: DispatchQueue
    private let calls: DispatchGroup?
    // One for all: handlers of one channel's operations are handed over in the order in which they end.
    static let watching = Dispatch.DispatchQueue(label: "overdrive.watching.io")

    init(to target: DispatchQueue, countedBy calls: DispatchGroup? = nil) {
        self.calls = calls
        // An operation's handler is called once at a time and in order, on a concurrent queue too.
        self.target = target.isConcurrent ? DispatchQueue(label: "overdrive.io", target: target) : target
    }

    func forward(_ work: @escaping () -> Void) {
        // The closure is handed from here to the queue, once.
        nonisolated(unsafe) let work = work
        target.async(group: calls) { unsafe work() }
    }
}
