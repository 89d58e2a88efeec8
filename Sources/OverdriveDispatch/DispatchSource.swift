public import Dispatch
internal import OverdriveCore

/// The handlers of a source.
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

    /// The changes of a file that can be watched; on Linux no source watches files.
    public typealias FileSystemEvent = Dispatch.DispatchSource.FileSystemEvent

    /// The events of a process that can be watched.
    public struct ProcessEvent: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// It has ended.
        public static let exit = ProcessEvent(rawValue: 0x8000_0000)
    }

    /// The watched descriptor, signal or process; 0 for other sources.
    public var handle: UInt { core.handle }

    /// The events that a process source asks for; 0 for the others.
    public var mask: UInt { core.mask }

    /// The data of the last event: the number of due times, the sum of added numbers, the readable bytes, or the
    /// number of signals.
    public var data: UInt { core.data }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { core.isCancelled }

    /// Ends the source: only the cancel handler runs from now on.
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

    /// Sets the handler for events.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.eventHandler, to: SourceHandler(qos, flags, handler))
    }

    /// Sets the handler for events.
    public func setEventHandler(handler: DispatchWorkItem) {
        core.set(\.eventHandler, to: SourceHandler(handler))
    }

    /// Sets the handler to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.cancelHandler, to: SourceHandler(qos, flags, handler))
    }

    /// Sets the handler to call once, when the source has been cancelled and no other handler runs.
    public func setCancelHandler(handler: DispatchWorkItem) {
        core.set(\.cancelHandler, to: SourceHandler(handler))
    }

    /// Sets the handler to call once, when the source has started.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
    ) {
        core.set(\.registrationHandler, to: SourceHandler(qos, flags, handler))
    }

    /// Sets the handler to call once, when the source has started.
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
