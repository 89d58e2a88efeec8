// Owns the drop-in sources as programs see them. `SourceCore` has the state. They never call a handler.

public import Dispatch
internal import OverdriveCore

/// The type of a source's handlers.
public typealias DispatchSourceHandler = () -> Void

/// Calls handlers on a queue when a timer is due, a descriptor is ready, a signal arrives or a process ends.
///
///     let timer = DispatchSource.makeTimerSource(queue: journal)
///     timer.setEventHandler { flush() }
///     timer.schedule(deadline: .now() + 1, repeating: 1)
///     timer.activate()
///
/// Overdrive implements timers. libdispatch watches descriptors, signals and processes. Events during a running
/// handler or a suspension are combined into one event, and ``data`` is their sum.
///
/// - Ordering: Handlers of one source never run concurrently, even on a concurrent queue. The cancel handler is the
///   last one.
/// - Threading: Safe from any thread.
public final class DispatchSource: DispatchObject, @unchecked Sendable {
    let core: SourceCore

    init(_ core: SourceCore) {
        self.core = core
    }

    deinit {
        core.release()
    }

    /// The exactness of a timer.
    public typealias TimerFlags = Dispatch.DispatchSource.TimerFlags

    /// The changes of a file that can be watched; on Linux no source watches files.
    public typealias FileSystemEvent = Dispatch.DispatchSource.FileSystemEvent

    /// The events of a process that can be watched.
    public struct ProcessEvent: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// The process has ended.
        public static let exit = ProcessEvent(rawValue: 0x8000_0000)
    }

    /// The watched descriptor, signal or process; 0 for other sources.
    public var handle: UInt { core.handle }

    /// The events that a process source watches; 0 for other sources.
    public var mask: UInt { core.mask }

    /// The data of the last event: the number of due times, the sum of added numbers, the readable bytes, or the
    /// number of signals.
    public var data: UInt { core.data }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { core.isCancelled }

    /// Cancels the source. From then on only the cancel handler runs.
    public func cancel() {
        core.cancel()
    }

    /// Starts a new source. Has no effect on an active source.
    public override func activate() {
        core.activate()
    }

    /// Keeps handlers from being called until ``resume()``. Calls nest.
    public override func suspend() {
        core.suspend()
    }

    /// Reverts one call of ``suspend()``, or starts a new source. Traps if neither applies.
    public override func resume() {
        core.resume()
    }

    /// Sets the queue that runs the handlers.
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
