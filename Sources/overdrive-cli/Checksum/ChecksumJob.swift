internal import Glibc

/// Runs `overdrive checksum` with parsed arguments, reports the result, and determines the exit status.
struct ChecksumJob {
    private let engine: any Engine
    private let cache: DigestCache?
    private let reader: FileReader
    private let wakeup: Wakeup
    private let showsProgress: Bool
    private let printsStatistics: Bool
    private let json: Bool
    private let style: ChecksumLine.Style
    private let printsSummary: Bool
    private let start = ContinuousClock.now

    init(
        engine: any Engine, hash: any StreamingHash.Type, others: [Algorithm: any StreamingHash.Type] = [:],
        cache: DigestCache? = nil, json: Bool = false, style: ChecksumLine.Style = .init(),
        selection: Selection = Selection(), showsProgress: Bool, printsStatistics: Bool, printsSummary: Bool = false
    ) throws(SystemError) {
        self.engine = engine
        self.json = json
        self.style = style
        self.printsSummary = printsSummary
        self.showsProgress = showsProgress
        self.printsStatistics = printsStatistics
        self.cache = cache
        reader = FileReader(engine: engine, hash: hash, others: others, cache: cache, selection: selection)
        wakeup = try Wakeup()
        wakeup.listenToInterrupts()
        signal(SIGPIPE, SIG_IGN)  // A missing reader then causes an error of write(2) with a message.
    }

    /// Prints a line for each file under `paths`.
    func list(_ paths: [Bytes]) -> ExitStatus {
        walk(paths) { TreePlan($0, json: json, style: style) } verdict: { _ in .success }
    }

    /// Prints the differences between the files under `paths` and the list that `audit` has read.
    func audit(_ paths: [Bytes], against audit: Audit) -> ExitStatus {
        walk(paths) { AuditPlan(TreePlan($0, mostFailures: .max), audit) } verdict: { plan in
            var audit = plan.audit
            for failure in plan.failures.kept { audit.fail(failure) }
            return audit.report(json: json)
        }
    }

    private func walk<Work: Plan>(
        _ paths: [Bytes], _ makePlan: (Roots) -> sending Work, verdict: (Work) -> ExitStatus
    ) -> ExitStatus {
        let roots = Roots(paths)
        let survey = showsProgress ? Survey(roots, reader.selection) : nil
        survey?.start(on: engine, until: reader.stop)
        let plan = makePlan(roots)
        let run = ChecksumRun(plan, on: engine, reader: reader, wakeup: wakeup)
        let ending = follow(run) { survey?.total }

        return conclude(run, ending) { failures in
            var statuses = [run.withPlan { verdict($0) }]
            failures.report()
            statuses.append(concludeCache())
            if failures.count > 0 {
                StandardError.say("\(Quantity.count(failures.count)) could not be read")
                statuses.append(.someFailed)
            }
            return statuses.max { $0.rawValue < $1.rawValue } ?? .success
        }
    }

    /// Checks each file in the lists at `paths`, one list after another.
    func check(_ paths: [Bytes], options: CheckPlan.Options) -> ExitStatus {
        var worst = ExitStatus.success
        for (index, path) in paths.enumerated() {
            let status = check(path, options: options, isLast: index == paths.count - 1)
            if status.rawValue > worst.rawValue { worst = status }
        }
        return worst
    }

    private func check(_ path: Bytes, options: CheckPlan.Options, isLast: Bool) -> ExitStatus {
        let isStandardInput = path == Bytes(ascii: "-")
        let descriptor =
            isStandardInput ? dup(STDIN_FILENO) : LongPath.open(path, flags: O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            StandardError.say(path, sentence(forError: errno))
            return .someFailed
        }
        let plan = CheckPlan(LineReader(descriptor: descriptor), options: options)
        let run = ChecksumRun(plan, on: engine, reader: reader, wakeup: wakeup, isLast: isLast)
        let ending = follow(run) { nil }
        let name = isStandardInput ? Bytes(ascii: "standard input") : path

        return conclude(run, ending, isLast: isLast) { failures in
            failures.report()
            return run.withPlan { $0.verdict }.report(on: name, options: options)
        }
    }

    // MARK: The end of a run

    /// Reports damaged files, and saves the cache.
    private func concludeCache() -> ExitStatus {
        guard let cache else { return .success }
        for path in reader.damaged.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            StandardError.say(
                path,
                "damaged: its content differs from the cache, but its modification time does not; the cache keeps the old digest"
            )
        }
        do throws(BatchRefusal) { try cache.save() } catch {
            StandardError.say(error.sentence)
            return error.status
        }
        return reader.damaged.isEmpty ? .success : .someFailed
    }

    private func follow<Work: Plan>(
        _ run: ChecksumRun<Work>, total: () -> (files: Int, bytes: Int)?
    ) -> ChecksumRun<Work>.Ending {
        guard showsProgress else { return run.run { _ in } }
        var bar = ProgressBar()
        defer { bar.clear() }
        return run.run { isShown in
            guard isShown else { return bar.clear() }
            bar.draw(
                ProgressBar.State(files: reader.files, bytes: reader.bytes, total: total()),
                at: secondsSinceStart
            )
        }
    }

    private func conclude<Work: Plan>(
        _ run: ChecksumRun<Work>, _ ending: ChecksumRun<Work>.Ending, isLast: Bool = true,
        verdict: (FailureList) -> ExitStatus
    ) -> ExitStatus {
        let summary = Summary(
            files: reader.files, bytes: reader.bytes, seconds: secondsSinceStart
        )
        switch ending {
        case .interrupted:
            StandardError.say("interrupted: \(summary.sentence)")
            // _exit does not wait: workers may still be inside a long system call.
            _exit(ExitStatus.interrupted.rawValue)
        case .outputFailed(EPIPE):
            StandardStreams.endWithoutReader()
        case .outputFailed(let number):
            StandardError.say("cannot write the results: \(sentence(forError: number))")
            _exit(ExitStatus.output.rawValue)
        case .finished:
            var status = verdict(run.withPlan { $0.failures })
            if Descriptors.ranOut { status = Descriptors.reportShortage() }
            guard isLast else { return status }
            if printsStatistics {
                summary.printTable(engine: engine, peakHeld: run.withPlan { $0.peakHeld })
            } else if showsProgress || printsSummary {
                StandardError.write(Bytes(ascii: summary.sentence + "\n"))
            }
            return status
        }
    }

    private var secondsSinceStart: Double {
        (ContinuousClock.now - start) / .seconds(1)
    }
}
