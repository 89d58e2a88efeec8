internal import Glibc
internal import Synchronization

/// Handles SIGINT, SIGQUIT, SIGTERM and SIGHUP. The first signal is a request to stop, and a second one has its
/// default effect.
enum Interrupt {
    private static let requested = Atomic<Bool>(false)
    private static let descriptor = Atomic<Int32>(-1)

    static var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Installs the handlers, except for signals that the parent process had ignored.
    ///
    /// - Parameter descriptor: The handlers write to it. It must stay open.
    static func listen(waking descriptor: Int32) {
        // Both are initialised here, before the handler needs them.
        requested.store(false, ordering: .relaxed)
        self.descriptor.store(descriptor, ordering: .relaxed)

        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0, !isIgnored(action) else { continue }
            action = sigaction()
            action.sa_flags = Int32(bitPattern: SA_RESETHAND)
            action.__sigaction_handler.sa_handler = { _ in
                let number = errno
                Interrupt.requested.store(true, ordering: .relaxed)
                Wakeup.wake(through: Interrupt.descriptor.load(ordering: .relaxed))
                errno = number
            }
            sigaction(signal, &action, nil)
        }
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        guard let handler = action.__sigaction_handler.sa_handler else { return false }
        return unsafeBitCast(handler, to: Int.self) == 1  // SIG_IGN
    }
}
