internal import CProcessWatching
internal import Dispatch
internal import Glibc
internal import OverdriveCore

extension DispatchSource {
    /// Tells that a descriptor can be read, for as long as it can.
    ///
    /// - Parameters:
    ///   - fileDescriptor: What to watch. It stays open until the cancel handler is called.
    ///   - queue: Where the handlers run; nil: a shared one.
    public static func makeReadSource(
        fileDescriptor: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceRead {
        let theirs = Dispatch.DispatchSource.makeReadSource(fileDescriptor: fileDescriptor, queue: watching)
        return DispatchSource(
            SourceCore(on: queue, handle: UInt(bitPattern: Int(fileDescriptor)), watch: SourceWatch(theirs, isLevel: true)))
    }

    /// Tells that a descriptor can be written, for as long as it can.
    ///
    /// - Parameters:
    ///   - fileDescriptor: What to watch. It stays open until the cancel handler is called.
    ///   - queue: Where the handlers run; nil: a shared one.
    public static func makeWriteSource(
        fileDescriptor: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceWrite {
        let theirs = Dispatch.DispatchSource.makeWriteSource(fileDescriptor: fileDescriptor, queue: watching)
        return DispatchSource(
            SourceCore(on: queue, handle: UInt(bitPattern: Int(fileDescriptor)), watch: SourceWatch(theirs, isLevel: true)))
    }

    /// Tells that a signal came, which the program must ignore otherwise: `signal(SIGHUP, SIG_IGN)`.
    public static func makeSignalSource(
        signal: Int32, queue: DispatchQueue? = nil
    ) -> any DispatchSourceSignal {
        let theirs = Dispatch.DispatchSource.makeSignalSource(signal: signal, queue: watching)
        return DispatchSource(SourceCore(on: queue, handle: UInt(signal), watch: SourceWatch(theirs)))
    }

    /// Tells once that a process has ended. Dispatch has no such source on Linux; this one watches a descriptor of the
    /// process.
    ///
    /// - Parameters:
    ///   - identifier: The process. If it does not exist, it counts as ended.
    ///   - eventMask: Only `.exit` can be watched.
    ///   - queue: Where the handlers run; nil: a shared one.
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

    /// Tells the sum of what ``add(data:)`` was given since the last time.
    public static func makeUserDataAddSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataAdd {
        DispatchSource(SourceCore(on: queue))
    }

    /// Tells all bits that ``or(data:)`` was given since the last time.
    public static func makeUserDataOrSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataOr {
        DispatchSource(SourceCore(on: queue))
    }

    /// Tells the last number that ``replace(data:)`` was given.
    public static func makeUserDataReplaceSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataReplace {
        DispatchSource(SourceCore(on: queue))
    }

    /// Adds to what the handler will be told; 0 tells nothing.
    public func add(data: UInt) {
        core.merge(data, by: &+)
    }

    /// Adds bits to what the handler will be told; 0 tells nothing.
    public func or(data: UInt) {
        core.merge(data, by: |)
    }

    /// The data for the handler, in place of the collected data; 0 calls no handler.
    public func replace(data: UInt) {
        core.merge(data) { _, new in new }
    }
}
