internal import Glibc
internal import Synchronization

/// Ctrl-C, Ctrl-\, SIGTERM and SIGHUP. The first one is a request to stop; a second one ends the process as usual.
enum Interrupt {
    private static let requested = Atomic<Bool>(false)
    private static let descriptor = Atomic<Int32>(-1)

    static var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Takes the signals over, unless whoever started this process had them ignored.
    ///
    /// - Parameter descriptor: Written to on each of them. Must stay open.
    static func listen(waking descriptor: Int32) {
        // Both are touched here, so that the handler finds them made.
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
