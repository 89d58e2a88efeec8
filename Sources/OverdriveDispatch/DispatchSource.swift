public import Dispatch
internal import OverdriveCore

/// What a source calls.
public typealias DispatchSourceHandler = () -> Void

/// Something that happens again and again, and the handlers that are told, on a queue of ours, in its order.
///
///     let timer = DispatchSource.makeTimerSource(queue: journal)
///     timer.setEventHandler { flush() }
///     timer.schedule(deadline: .now() + 1, repeating: 1)
///     timer.activate()
///
/// Timers are Overdrive's own. Descriptors, signals and processes are watched by libdispatch. Events that come while the handler runs, or while the source or its queue is suspended, are told as one, with
/// ``data`` as their sum.
///
/// - Ordering: A source's handlers never run at the same time, on a concurrent queue either. The cancel handler is the
///   last.
/// - Threading: Safe from any thread.
public final class DispatchSource: DispatchObject, @unchecked Sendable {
    let core: SourceCore

    init(_ core: SourceCore) {
        self.core = core
    }

    deinit {
        core.release()
    }

    /// How exactly a timer keeps its times.
    public typealias TimerFlags = Dispatch.DispatchSource.TimerFlags

    /// What changes of a file can be watched; nothing watches files on Linux.
    public typealias FileSystemEvent = Dispatch.DispatchSource.FileSystemEvent

    /// What a process can be watched for.
    public struct ProcessEvent: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// It has ended.
        public static let exit = ProcessEvent(rawValue: 0x8000_0000)
    }

    /// What the source watches: a descriptor, a signal or a process; 0 for the others.
    public var handle: UInt { core.handle }

    /// The events that a process source asks for; 0 for the others.
    public var mask: UInt { core.mask }

    /// Of the event that was told last: how often the timer was due, the sum of what was added, the bytes that can be
    /// read, or how often the signal came.
    public var data: UInt { core.data }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { core.isCancelled }

    /// Ends the source: no handler begins any more but the cancel handler.
    public func cancel() {
        core.cancel()
    }

    /// Lets a new source start. On one that is active it does nothing.
    public override func activate() {
        core.activate()
    }

    /// Keeps handlers from being called until ``resume()``. Calls nest.
    public override func suspend() {
        core.suspend()
    }

    /// Takes one ``suspend()`` back, or lets a new source start. Traps where there is neither.
    public override func resume() {
        core.resume()
    }

    /// Has handlers called on another queue.
    public override func setTarget(queue: DispatchQueue) {
        core.setQueue(queue)
    }

    /// What to call when something has happened.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.eventHandler, to: SourceHandler(qos, flags, handler))
    }

    /// What to call when something has happened.
    public func setEventHandler(handler: DispatchWorkItem) {
        core.set(\.eventHandler, to: SourceHandler(handler))
    }

    /// What to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.cancelHandler, to: SourceHandler(qos, flags, handler))
    }

    /// What to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(handler: DispatchWorkItem) {
        core.set(\.cancelHandler, to: SourceHandler(handler))
    }

    /// What to call once, when the source has started.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.registrationHandler, to: SourceHandler(qos, flags, handler))
    }

    /// What to call once, when the source has started.
    public func setRegistrationHandler(handler: DispatchWorkItem) {
        core.set(\.registrationHandler, to: SourceHandler(handler))
    }
}

extension SourceHandler {
    init?(_ qos: DispatchQoS, _ flags: DispatchWorkItemFlags, _ work: DispatchSourceHandler?) {
        guard let work else { return nil }
        self.init(qos: qos, flags: flags, work: work)
    }

    init(_ item: DispatchWorkItem) {
        self.init(qos: item.qos, flags: item.flags) { item.perform() }
    }
}
