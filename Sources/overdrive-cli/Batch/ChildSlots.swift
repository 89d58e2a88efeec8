internal import Glibc
internal import Synchronization

/// The slots of running commands, through which signals are forwarded. Ctrl-Z reaches only this process, because each
/// command has a separate process group.
enum ChildSlots {
    /// A slot: its number, from 1, and its command.
    final class Slot: Sendable {
        let number: Int
        fileprivate let isTaken = Atomic<Bool>(false)
        private let group = Atomic<Int32>(0)

        fileprivate init(number: Int) { self.number = number }

        /// The command's process group; 0 if there is none.
        var process: Int32 {
            get { group.load(ordering: .relaxed) }
            set { group.store(newValue, ordering: .relaxed) }
        }
    }

    /// A slot for each possible job, and one for calls of Slurm's commands.
    private static let slots = (1...1025).map { Slot(number: $0) }

    /// Takes the first free slot.
    static func take() -> Slot {
        while true {
            for slot in slots
            where slot.isTaken.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged { return slot }
            usleep(1000)
        }
    }

    static func leave(_ slot: Slot) {
        slot.process = 0
        slot.isTaken.store(false, ordering: .relaxed)
    }

    /// Whether a command is running.
    static var hasRunning: Bool { slots.contains { $0.process > 0 } }

    /// Sends a signal to all running commands. Safe in signal handlers.
    static func send(_ signal: Int32) {
        for slot in slots {
            let process = slot.process
            if process > 0 { kill(-process, signal) }
        }
    }

    /// Makes Ctrl-Z also stop the commands, and `fg` continue them.
    static func passOnStops() {
        _ = slots.count  // initialised before the handlers need it
        var before = sigaction()
        guard sigaction(SIGTSTP, nil, &before) == 0,
            before.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) != 1 }) ?? true
        else { return }
        var action = sigaction()
        action.sa_flags = Int32(SA_RESTART)
        action.__sigaction_handler.sa_handler = { _ in
            let number = errno
            ChildSlots.send(SIGTSTP)
            kill(getpid(), SIGSTOP)
            errno = number
        }
        sigaction(SIGTSTP, &action, nil)
        action.__sigaction_handler.sa_handler = { _ in
            let number = errno
            ChildSlots.send(SIGCONT)
            errno = number
        }
        sigaction(SIGCONT, &action, nil)
    }
}
