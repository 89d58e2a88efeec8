internal import Glibc
internal import Synchronization

/// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as a request to end orderly. A second one ends the process as usual.
enum StopSignals {
    private static let requested = Atomic<Int32>(0)

    /// The signal that came, or nil.
    static var received: Int32? {
        let signal = requested.load(ordering: .relaxed)
        return signal == 0 ? nil : signal
    }

    /// Takes the signals over, unless whoever started this process had them ignored.
    static func listen() {
        requested.store(0, ordering: .relaxed)  // Made before the handler needs it.
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0,
                action.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) != 1 }) ?? true
            else { continue }
            action = sigaction()
            action.sa_flags = Int32(bitPattern: SA_RESETHAND)
            action.__sigaction_handler.sa_handler = { StopSignals.requested.store($0, ordering: .relaxed) }
            sigaction(signal, &action, nil)
        }
    }
}
