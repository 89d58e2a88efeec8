internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// Ctrl-C, Ctrl-\, SIGTERM and the end of the terminal (SIGHUP) as a request to end orderly. A second one ends the process as usual.
package enum StopSignals {
    private static let requested = Atomic<Int32>(0)
    /// How many runs listen, and what was to be done before the first of them did.
    private static let listening = Locked<(runs: Int, before: [(signal: Int32, action: sigaction)])>((0, []))

    /// The signal that came to the last runs that listened, or nil.
    package static var received: Int32? {
        let signal = requested.load(ordering: .relaxed)
        return signal == 0 ? nil : signal
    }

    /// Takes SIGUSR1, Slurm's warning before a time limit, as a request to end orderly, from now until the process ends.
    package static func heedWarnings() {
        requested.store(0, ordering: .relaxed)  // Made before the handler needs it.
        take(SIGUSR1)
    }

    private static func take(_ signal: Int32) {
        var action = sigaction()
        action.sa_flags = Int32(bitPattern: SA_RESETHAND)
        unsafe action.__sigaction_handler.sa_handler = { StopSignals.requested.store($0, ordering: .relaxed) }
        unsafe sigaction(signal, &action, nil)
    }

    /// Takes the signals over, unless whoever started this process had them ignored.
    package static func listen() {
        listening.withLock(orAnew: (0, [])) { listening in
            listening.runs += 1
            guard listening.runs == 1 else { return }
            // Made before the handler needs it. An early warning stays.
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

    /// Puts things back as the first `listen` found them, when the last run that listened has ended.
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
