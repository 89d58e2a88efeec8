// Owns the text forms of an app's report: one line, a table, a JSON trace and files. Programs call them. They never
// change the report.

internal import Overdrive

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension AppReport: CustomStringConvertible {
    /// The report in one line: the number of tasks, the times of boot and shutdown, the exit code, and ``problems``.
    public var description: String {
        var facts = ["\(tasks.count) task\(tasks.count == 1 ? "" : "s")", bootTime.map { "booted in \(milliseconds($0)) ms" } ?? "not booted"]
        if let endReason {
            facts.append((endTime.map { "ended in \(milliseconds($0)) ms" } ?? "ending") + " (\(endReason))")
        }
        if let exitCode { facts.append("exit code \(exitCode)") }
        let problems = problems
        return facts.joined(separator: ", ") + (problems.isEmpty ? "" : ": " + problems.joined(separator: "; "))
    }

    /// The report for people: a table of the tasks, the critical path, and further facts.
    public var table: String {
        let names = tasks.map { ($0.isCritical ? "* " : "  ") + $0.task }
        let width = max(6, names.map(\.count).max() ?? 0)
        var lines = [
            ReportText.padded("task", to: width) + "   outcome      ready    start     time     stop   waits for"
        ]
        for (name, task) in zip(names, tasks) {
            let waitsFor = task.dependencies.map { tasks[$0].task }
            let named = waitsFor.prefix(4).joined(separator: ", ") + (waitsFor.count > 4 ? ", and \(waitsFor.count - 4) more" : "")
            lines.append(
                ReportText.padded(name, to: width) + "   " + ReportText.padded(task.outcome.rawValue, to: 11)
                    + cell(task.started == nil ? nil : task.ready) + cell(task.started) + cell(span(task.started, task.ended))
                    + cell(span(task.stopStarted, task.stopEnded)) + "   " + named)
        }
        lines.append("")
        if let bootTime { lines.append("The boot took \(milliseconds(bootTime)) ms.") }
        let path = criticalPath
        if !path.isEmpty {
            lines.append("The critical path (*): " + path.map { "\($0.task) \(milliseconds(span($0.started, $0.ended) ?? .zero))" }
                .joined(separator: " -> ") + " ms.")
        }
        if let endReason {
            lines.append("The end: \(endReason)" + (endTime.map { "; it took \(milliseconds($0)) ms" } ?? "") + ".")
        }
        if let closures {
            lines.append("Closures: \(closures.ran) ran, \(closures.cancelled) never ran, \(closures.stuck) still run.")
        }
        if events.accepted + events.refused > 0 {
            lines.append(
                "Events: \(events.accepted) accepted, \(events.delivered) delivered, \(events.refused) refused, \(events.dropped) dropped.")
        }
        lines += problems
        return lines.joined(separator: "\n") + "\n"
    }

    private func cell(_ time: Duration?) -> String {
        let text = time.map(milliseconds) ?? "-"
        return String(repeating: " ", count: max(1, 9 - text.count)) + text
    }

    private func span(_ start: Duration?, _ end: Duration?) -> Duration? {
        guard let start, let end else { return nil }
        return end - start
    }

    /// Returns milliseconds with two decimals.
    private func milliseconds(_ time: Duration) -> String { decimal(Double(time.nanosecondCount) / 1e6) }

    private func decimal(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let fraction = abs(hundredths % 100)
        return "\(hundredths < 0 ? "-" : "")\(abs(hundredths / 100)).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    // MARK: - A trace

    /// The report as a JSON trace for ui.perfetto.dev or chrome://tracing. It has a row for each task with its boot
    /// and stop, and arrows to the dependents.
    public var trace: String {
        var events = ["{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"app\"}}"]
        for (index, task) in tasks.enumerated() {
            let thread = index + 1
            events.append(
                "{\"ph\":\"M\",\"pid\":1,\"tid\":\(thread),\"name\":\"thread_name\",\"args\":{\"name\":\(MarkupText.json(task.task))}}")
            let arguments = "\"args\":{\"provider\":\(MarkupText.json(task.provider)),\"outcome\":\(MarkupText.json(task.outcome.rawValue)),\"critical\":\(task.isCritical)}"
            if let start = task.started {
                let end = task.ended ?? start
                events.append(
                    "{\"ph\":\"X\",\"pid\":1,\"tid\":\(thread),\"name\":\(MarkupText.json("boot " + task.task)),\"cat\":\"boot\",\"ts\":\(ReportText.microseconds(start)),\"dur\":\(ReportText.microseconds(end - start)),\(arguments)}")
            }
            if let start = task.stopStarted {
                let end = task.stopEnded ?? start
                events.append(
                    "{\"ph\":\"X\",\"pid\":1,\"tid\":\(thread),\"name\":\(MarkupText.json("stop " + task.task)),\"cat\":\"stop\",\"ts\":\(ReportText.microseconds(start)),\"dur\":\(ReportText.microseconds(end - start)),\(arguments)}")
            }
            for dependency in task.dependencies {
                guard let start = task.started, let ended = tasks[dependency].ended else { continue }
                let flow = "\"pid\":1,\"name\":\"waits\",\"cat\":\"waits\",\"id\":\"\(dependency)-\(index)\""
                events.append("{\"ph\":\"s\",\"tid\":\(dependency + 1),\"ts\":\(ReportText.microseconds(ended)),\(flow)}")
                events.append("{\"ph\":\"f\",\"bp\":\"e\",\"tid\":\(thread),\"ts\":\(ReportText.microseconds(start)),\(flow)}")
            }
        }
        return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events.joined(separator: ",\n") + "\n]}\n"
    }

    // MARK: - Files

    /// Writes `boot.txt` (``table``), `boot.svg` (``picture``) and `boot.json` (``trace``) to a folder, which is
    /// created if necessary.
    ///
    /// - Parameter folder: The path of the folder.
    /// - Returns: nil, or a sentence about the file that could not be written.
    @discardableResult
    public func write(to folder: String) -> String? {
        unsafe mkdir(folder, 0o777)
        for (name, text) in [("boot.txt", table), ("boot.svg", picture), ("boot.json", trace)] {
            guard let file = unsafe fopen("\(folder)/\(name)", "we") else {
                return "\(folder)/\(name) could not be written: \(lastSystemError())"
            }
            let bytes = Array(text.utf8)
            let isWritten = unsafe fwrite(bytes, 1, bytes.count, file) == bytes.count
            guard unsafe fclose(file) == 0, isWritten else {
                return "\(folder)/\(name) could not be written: \(lastSystemError())"
            }
        }
        return nil
    }
}
