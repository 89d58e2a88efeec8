// Owns the signal handlers of an app. The kernel calls them; they write the signal's number to the wake pipe. The
// supervisor decides what a signal means.

internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The descriptor to which the handler writes a signal's number; -1 for none.
private let signalPipe = Atomic<Int32>(-1)

/// The signal handler. It may interrupt any code on any thread, so it only loads a number and writes a byte.
private func signalCame(_ number: Int32) {
    let pipe = signalPipe.load(ordering: .relaxed)  // relaxed: set before the handler was installed
    guard pipe >= 0 else { return }
    let error = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = unsafe write(pipe, &byte, 1)
    errno = error
}

/// The signal handlers of an app, installed until `restore()`.
///
/// A signalfd would receive only signals that all threads block, and a program may have started threads before its
/// app.
struct SignalHandlers {
    private var saved: [(number: Int32, action: sigaction)] = []
    /// A sentence for each signal that the program itself handles.
    private(set) var notes: [String] = []

    /// Installs handlers for the signals that the program does not handle itself.
    init(_ signals: [AppSignal], pipe: Int32) {
        // The first use of a global may allocate, which a signal handler must not do. Therefore the first use is
        // here.
        signalPipe.store(-1, ordering: .relaxed)
        signalCame(0)
        signalPipe.store(pipe, ordering: .sequentiallyConsistent)
        let read = SignalHandlers.readFromDescriptors()
        for signal in signals {
            var current = sigaction()
            guard unsafe sigaction(signal.number, nil, &current) == 0 else {
                notes.append("\(signal) cannot be handled: leave it out of the app's signals")
                continue
            }
            // The parent process asked for the signal to be ignored, as nohup does.
            if SignalHandlers.handler(of: current) == 1 { continue }
            if let claim = SignalHandlers.claim(on: current, isRead: read >> UInt64(signal.number - 1) & 1 == 1) {
                notes.append(
                    "\(signal) \(claim), and stays so: leave it out of the app's signals, or give it up before the app is run")
                continue
            }
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = signalCame
            action.sa_flags = SA_RESTART
            unsafe sigemptyset(&action.sa_mask)
            guard unsafe sigaction(signal.number, &action, nil) == 0 else { continue }
            saved.append((signal.number, current))
        }
    }

    /// Returns the signals that some code reads from a signalfd, one bit each. The mask of blocked signals would not
    /// tell: it is inherited, and libdispatch's threads block all signals.
    private static func readFromDescriptors() -> UInt64 {
        guard let folder = unsafe opendir("/proc/self/fdinfo") else { return 0 }
        defer { unsafe closedir(folder) }
        var mask: UInt64 = 0
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard let file = unsafe fopen("/proc/self/fdinfo/\(name)", "re") else { continue }
            defer { unsafe fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            while unsafe fgets(&line, Int32(line.count), file) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                guard text.hasPrefix("sigmask:") else { continue }
                mask |= UInt64(text.dropFirst(8).filter(\.isHexDigit), radix: 16) ?? 0
            }
        }
        return mask
    }

    /// Unblocks the handled signals on the calling thread, because other threads may block them.
    func unblock() {
        var mine = sigset_t()
        unsafe sigemptyset(&mine)
        for signal in saved { unsafe sigaddset(&mine, signal.number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &mine, nil)
    }

    /// Returns the program's own use of the signal; nil if there is none.
    private static func claim(on action: sigaction, isRead: Bool) -> String? {
        if isRead { return "is already read from a signalfd" }
        return handler(of: action) == 0 ? nil : "is already handled by the program"
    }

    /// Returns the handler's address: 0 means the default action, 1 means ignored.
    private static func handler(of action: sigaction) -> Int {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    }

    /// Restores the previous signal actions.
    mutating func restore() {
        for saved in saved {
            var action = saved.action
            unsafe sigaction(saved.number, &action, nil)
        }
        saved = []
        signalPipe.store(-1, ordering: .sequentiallyConsistent)
    }
}
