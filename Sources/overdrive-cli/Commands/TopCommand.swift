#if CLI
internal import ArgumentParser
internal import Glibc

/// `overdrive top`.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows what a running program's workers and queues do.",
        discussion: """
            The program must be started with OVERDRIVE_TOP=1. A queue is busy for the time since it was last seen empty. If \
            standard input or output is no terminal, the view is printed once.

            EXIT CODES: 0 the view was left, or printed; 64 wrong usage; 66 no such process, no page, or another user's; \
            74 the view could not be written.
            """
    )

    @Argument(help: ArgumentHelp("The number of the process.", valueName: "pid"))
    var process: Int32

    @Flag(help: "Prints one JSON object. Times are nanoseconds.")
    var json = false

    func validate() throws {
        guard process > 0 else { throw ValidationError("the number of a process is at least 1 (\(process)); name one that runs") }
    }

    func run() throws {
        do {
            let page = try TopPage(of: process)
            let first = try page.read()
            var view = TopView(program: page.program, process: process, before: first, now: first)
            if json || isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0 {
                usleep(500_000)  // two snapshots later
                view.now = try page.read()
                try Self.write(json ? try view.json() : view.lines(height: .max / 2).dropLast().joined(separator: "\n") + "\n")
            } else {
                try TopScreen.show(&view, page)
            }
        } catch let refusal as TopRefusal {
            StandardError.say(refusal.sentence)
            throw ExitCode(ExitStatus.noInput.rawValue)
        }
    }

    static func write(_ text: String) throws {
        let error = StandardStreams.write(Bytes(text.utf8)[...], to: STDOUT_FILENO) { Interrupt.isRequested }
        if error != 0, !Interrupt.isRequested {
            StandardError.say("cannot write the results: \(sentence(forError: error))")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }
}

/// The view on a terminal, which it leaves as it was.
enum TopScreen {
    private static let interval: Int32 = 500

    static func show(_ view: inout TopView, _ page: TopPage) throws {
        Interrupt.listen(waking: -1)
        var before = termios()
        tcgetattr(STDIN_FILENO, &before)
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
        raw.c_cc.10 = 0  // VSUSP: a stopped command would leave the terminal as it is here.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            try? TopCommand.write("\u{1b}[?25h\u{1b}[?1049l")
        }
        try TopCommand.write("\u{1b}[?1049h\u{1b}[?25l")
        while !Interrupt.isRequested {
            try draw(view)
            guard obey(key(), &view) else { return }
            if !view.isFrozen { try renew(&view, page) }
        }
    }

    /// The key that was pressed within the interval.
    private static func key() -> UInt8? {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0), byte: UInt8 = 0
        guard poll(&input, 1, interval) > 0 else { return nil }
        return read(STDIN_FILENO, &byte, 1) == 1 ? byte : UInt8(ascii: "q")
    }

    /// Returns whether the view continues.
    private static func obey(_ key: UInt8?, _ view: inout TopView) -> Bool {
        switch key {
        case UInt8(ascii: "q"): return false
        case UInt8(ascii: "f"): view.isFrozen.toggle()
        case UInt8(ascii: "p"): view.order = .pending
        case UInt8(ascii: "b"): view.order = .busy
        case UInt8(ascii: "l"): view.order = .label
        default: break
        }
        return true
    }

    private static func renew(_ view: inout TopView, _ page: TopPage) throws {
        let next = try page.read()
        guard next.taken != view.now.taken else { return }
        (view.before, view.now) = (view.now, next)
    }

    private static func draw(_ view: TopView) throws {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0
        let height = isKnown ? Int(size.ws_row) : 24, width = isKnown ? Int(size.ws_col) : 80
        let lines = view.lines(height: height - 1).map { String($0.prefix(width)) + "\u{1b}[K" }
        try TopCommand.write("\u{1b}[H" + lines.joined(separator: "\r\n") + "\u{1b}[J")
    }
}
#endif
