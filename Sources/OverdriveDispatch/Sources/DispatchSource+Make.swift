// Owns the functions that create sources, except timers, and that add data to them. Programs call them. `SourceCore`
// calls the handlers.

internal import CProcessWatching
internal import Dispatch
internal import Glibc
internal import OverdriveCore

extension DispatchSource {
    /// Creates a source with an event while a descriptor is readable.
    ///
    /// - Parameters:
    ///   - fileDescriptor: The descriptor to watch. Keep it open until the cancel handler is called.
    ///   - queue: The queue that runs the handlers; nil for a shared one.
    public static func makeReadSource(
        fileDescriptor: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceRead {
        let theirs = Dispatch.DispatchSource.makeReadSource(fileDescriptor: fileDescriptor, queue: watching)
        return DispatchSource(
            SourceCore(on: queue, handle: UInt(bitPattern: Int(fileDescriptor)), watch: SourceWatch(theirs, isLevel: true)))
    }

    /// Creates a source with an event while a descriptor is writable.
    ///
    /// - Parameters:
    ///   - fileDescriptor: The descriptor to watch. Keep it open until the cancel handler is called.
    ///   - queue: The queue that runs the handlers; nil for a shared one.
    public static func makeWriteSource(
        fileDescriptor: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceWrite {
        let theirs = Dispatch.DispatchSource.makeWriteSource(fileDescriptor: fileDescriptor, queue: watching)
        return DispatchSource(
            SourceCore(on: queue, handle: UInt(bitPattern: Int(fileDescriptor)), watch: SourceWatch(theirs, isLevel: true)))
    }

    /// Creates a source with an event for each signal. The program must ignore the signal: `signal(SIGHUP, SIG_IGN)`.
    public static func makeSignalSource(
        signal: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceSignal {
        let theirs = Dispatch.DispatchSource.makeSignalSource(signal: signal, queue: watching)
        return DispatchSource(SourceCore(on: queue, handle: UInt(signal), watch: SourceWatch(theirs)))
    }

    /// Creates a source with one event, when a process has ended. Dispatch has none on Linux; this source watches a
    /// process descriptor.
    ///
    /// - Parameters:
    ///   - identifier: The process. A process that does not exist counts as ended.
    ///   - eventMask: The events to watch. Only `.exit` is possible.
    ///   - queue: The queue that runs the handlers; nil for a shared one.
    public static func makeProcessSource(
        identifier: Int32, eventMask: ProcessEvent, queue: DispatchQueue? = nil
    ) -> any DispatchSourceProcess {
        guard eventMask == .exit else {
            trap("DispatchSource.makeProcessSource(identifier:eventMask:queue:): only .exit can be watched on Linux. Choose .exit.")
        }
        let descriptor = od_process_open(identifier)
        let handle = UInt(bitPattern: Int(identifier))
        guard descriptor >= 0 else {
            let core = SourceCore(on: queue, handle: handle, mask: eventMask.rawValue)
            core.merge(eventMask.rawValue, by: |)
            return DispatchSource(core)
        }
        let theirs = Dispatch.DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: watching)
        let watch = SourceWatch(theirs, isLevel: true, isOnce: true, data: eventMask.rawValue) { close(descriptor) }
        return DispatchSource(SourceCore(on: queue, handle: handle, mask: eventMask.rawValue, watch: watch))
    }

    /// Creates a source whose data is the sum of the values passed to ``add(data:)`` since the last event.
    public static func makeUserDataAddSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataAdd {
        DispatchSource(SourceCore(on: queue))
    }

    /// Creates a source whose data is the union of the bits passed to ``or(data:)`` since the last event.
    public static func makeUserDataOrSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataOr {
        DispatchSource(SourceCore(on: queue))
    }

    /// Creates a source whose data is the last value passed to ``replace(data:)``.
    public static func makeUserDataReplaceSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataReplace {
        DispatchSource(SourceCore(on: queue))
    }

    /// Adds a value to the data of the next event. The value 0 has no effect.
    public func add(data: UInt) {
        core.merge(data, by: &+)
    }

    /// Adds bits to the data of the next event. The value 0 has no effect.
    public func or(data: UInt) {
        core.merge(data, by: |)
    }

    /// Replaces the data of the next event. The value 0 causes no event.
    public func replace(data: UInt) {
        core.merge(data) { _, new in new }
    }
}
