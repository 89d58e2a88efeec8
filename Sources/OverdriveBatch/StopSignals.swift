// Owns the signal handlers of runs that end on signals. `BatchRun` and the command install them. A handler only stores the
// signal's number.

internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// Treats SIGINT, SIGQUIT, SIGTERM and SIGHUP as requests to end in order. A second signal of the same kind has its
/// default effect.
package enum StopSignals {
    private static let requested = Atomic<Int32>(0)
    /// The number of runs that listen, and the actions before the first of them.
    private static let listening = Locked<(runs: Int, before: [(signal: Int32, action: sigaction)])>((0, []))

    /// The last signal received by a listening run; nil if there was none.
    package static var received: Int32? {
        let signal = requested.load(ordering: .relaxed)
        return signal == 0 ? nil : signal
    }

    /// Treats SIGUSR1, Slurm's warning before a time limit, as a request to end in order. This lasts until the
    /// process ends.
    package static func heedWarnings() {
        requested.store(0, ordering: .relaxed)  // initialised before the handler needs it
        take(SIGUSR1)
    }

    private static func take(_ signal: Int32) {
        var action = sigaction()
        action.sa_flags = Int32(bitPattern: SA_RESETHAND)
        unsafe action.__sigaction_handler.sa_handler = { StopSignals.requested.store($0, ordering: .relaxed) }
        unsafe sigaction(signal, &action, nil)
    }

    /// Installs the handlers, except for signals that the parent process had ignored.
    package static func listen() {
        listening.withLock(orAnew: (0, [])) { listening in
            listening.runs += 1
            guard listening.runs == 1 else { return }
            // Initialised before the handler needs it. A SIGUSR1 that came before is kept.
            if requested.load(ordering: .relaxed) != SIGUSR1 { requested.store(0, ordering: .relaxed) }
            for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
                var before = sigaction()
                guard unsafe sigaction(signal, nil, &before) == 0,
                    unsafe before.__sigaction_handler.sa_handler.map({ unsafe unsafeBitCast($0, to: Int.self) != 1 }) ?? true
                else { continue }
                take(signal)
                listening.before.append((signal, before))
            }
        }
    }

    /// Restores the actions that the first `listen` found, when the last listening run has ended.
    static func unlisten() {
        listening.withLock(orAnew: (0, [])) { listening in
            listening.runs -= 1
            guard listening.runs == 0 else { return }
            for (signal, before) in listening.before {
                var before = before
                unsafe sigaction(signal, &before, nil)
            }
            listening.before = []
        }
    }
}
