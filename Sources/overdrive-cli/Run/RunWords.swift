/// Normalises the words of `overdrive run` for the parser. Users of xargs and GNU parallel write `-j4`, `-P 4` or
/// `-n1`, and no `--` before the command.
enum RunWords {
    /// The options with a value, by all their names.
    private static let valued: [String: String] = [
        "-j": "jobs", "--jobs": "jobs", "-P": "jobs", "--max-procs": "jobs", "-a": "items", "--arg-file": "items",
        "--items": "items", "--attempts": "attempts", "--retries": "attempts", "--time-limit": "time-limit",
        "--timeout": "time-limit", "--joblog": "joblog", "-n": "max-args", "--max-args": "max-args", "-N": "max-args",
        "--max-replace-args": "max-args", "-C": "colsep", "--colsep": "colsep", "-I": "replace", "--replace": "replace",
        "-d": "delimiter", "--delimiter": "delimiter", "-E": "eof", "--eof": "eof", "--halt": "halt", "--delay": "delay", "--results": "results",
        "--memfree": "memfree", "--load": "load", "--wd": "wd", "--workdir": "wd", "--env": "env", "--shell": "shell",
        "--journal": "journal", "--shard": "shard", "--processes": "processes", "--progress": "progress",
        "--report": "report", "--requeue": "requeue", "--shard-of": "shard-of",
    ]
    /// The options without a value.
    private static let flags: [String: String] = [
        "-0": "null", "--null": "null", "--plain": "plain", "--dry-run": "dry-run", "--dryrun": "dry-run", "--tag": "tag",
        "--line-buffer": "line-buffer", "--lb": "line-buffer", "--linebuffer": "line-buffer", "--ungroup": "ungroup",
        "-u": "ungroup", "-k": "keep-order", "--keep-order": "keep-order", "-t": "verbose", "--verbose": "verbose",
        "-r": "no-run-if-empty", "--no-run-if-empty": "no-run-if-empty", "--bar": "progress=bar",
        "--retry-failed": "retry-failed", "--help": "help", "-h": "help", "--will-cite": "keep-order",
        "--group": "keep-order", "--gnu": "keep-order", "--no-notice": "keep-order", "--xargs": "xargs", "--version": "version",
    ]
    /// The unsupported options of GNU parallel and xargs, with the remedy.
    private static let refused: [String: String] = [
        "-X": "Write --xargs", "-m": "Write --xargs", "-L": "Write -n N", "-s": "Write -n N",
        "-i": "Write -I STR", "-p": "Look at --dry-run first", "-v": "Write -t",
        "-q": "Leave the option out: no shell reads the command", "--quote": "Leave the option out: no shell reads the command",
        "--pipe": files, "--pipepart": files, "--block": files, "--cat": files, "--fifo": files, "--recstart": files,
        "--recend": files, "--round-robin": files, "--tee": files,
        "-S": machines, "--sshlogin": machines, "--slf": machines, "--sshloginfile": machines, "--onall": machines,
        "--nonall": machines, "--transfer": machines, "--transferfile": machines, "--return": machines, "--trc": machines,
        "--cleanup": machines, "--basefile": machines,
        "--tagstring": "Write --tag", "--link": "Write :::+", "--xapply": "Write :::+", "--arg-sep": "Write :::",
        "--arg-file-sep": "Write ::::", "--header": "Write tail -n +2 FILE | overdrive run, and {1} for a column",
        "--rpl": "Write --shell 'TEXT'", "--plus": "Write --shell 'TEXT'", "--trim": "Trim the list first",
        "--shuf": "Write shuf FILE | overdrive run", "--filter": "Select the items first",
        "--resume": "Write --journal DIR", "--resume-failed": "Write --journal DIR --retry-failed",
        "--eta": "Write --bar",
        "--memsuspend": "Write --memfree SIZE", "--nice": "Write nice -n N overdrive run", "--semaphore": "Write flock FILE COMMAND",
        "--tmpdir": "Set TMPDIR", "--compress": "Leave the option out: outputs are in memory",
        "--process-slot-var": "Read OVERDRIVE_SLOT",
    ]
    private static let files = "Divide the input into files first"
    private static let machines = "Write submit slurm, or --shard I/N on each machine"

    /// The process's arguments without the program's name. Those of `run` are normalised.
    static var ofProcess: [String] {
        get throws(BatchRefusal) {
            let words = RawArgument.ofProcess
            return words.first == "run" ? try normalised(words) : words
        }
    }

    /// Returns `words`, which begin with `run`, in normal form: long options, values after `=`, and `--` before the
    /// command.
    static func normalised(_ words: [String]) throws(BatchRefusal) -> [String] {
        var rest = words[...]
        guard let verb = rest.popFirst() else { return words }
        var result = [verb]
        func value(of option: String) throws(BatchRefusal) -> String {
            guard let value = rest.popFirst() else {
                throw BatchRefusal(.usage, "run: \(option) needs a value. See overdrive help run.")
            }
            return value
        }
        while let word = rest.first {
            if word == "--" || word == "-" || !word.hasPrefix("-") || word.isEmpty { break }
            rest.removeFirst()
            let name = String(word.prefix { $0 != "=" })
            try refuse(name)
            if word.hasPrefix("--") {
                if let long = valued[name] {
                    let value = name.count < word.count ? String(word.dropFirst(name.count + 1)) : try value(of: name)
                    result.append("--\(long)=\(value)")
                } else {
                    result.append(flags[word].map { "--\($0)" } ?? word)
                }
                continue
            }
            // Letters after one dash are flags; one of them may take the rest or the next word as its value.
            var letters = word.dropFirst()
            while let letter = letters.popFirst() {
                let option = "-\(letter)"
                try refuse(option)
                if let flag = flags[option] {
                    result.append("--\(flag)")
                } else if let long = valued[option] {
                    result.append("--\(long)=\(letters.isEmpty ? try value(of: option) : String(letters))")
                    letters = ""
                } else {
                    throw BatchRefusal(
                        .usage, "run: there is no option \(option) ('\(word)'). See overdrive help run; a command begins after --.")
                }
            }
        }
        if rest.first != "--", !rest.isEmpty { result.append("--") }
        return result + rest
    }

    private static func refuse(_ option: String) throws(BatchRefusal) {
        guard let remedy = refused[option] else { return }
        throw BatchRefusal(.usage, "run: \(option) is not supported. \(remedy).")
    }
}
