// Owns the account of a failed schedule for a reader: one line for each step, with the thread and the source line.

internal import OverdriveCore

enum Story {
    private static let mostLines = 80

    // In the order of od_control_kind.
    private static let words = [
        "starts a thread", "ends", "submits a closure", "begins a closure", "finishes a closure", "cancels a closure",
        "steals closures", "fires a timer", "suspends a queue", "resumes a queue", "begins a branch", "waits", "wakes a thread",
        "yields", "reaches a point", "locks", "reaches", "FAILS",
    ]

    static func preemptions(in steps: [ControlledRun.Step]) -> Int { steps.count { isPreemption($0) } }

    /// Whether the thread could have gone on, and another thread went on instead.
    static func isPreemption(_ step: ControlledRun.Step) -> Bool { preempts(step, step.chosen) }

    static func preempts(_ step: ControlledRun.Step, _ next: UInt32) -> Bool {
        next != step.thread && step.isReady(step.thread) && !step.yields
    }

    static func tell(_ run: ControlledRun) -> String {
        let steps = run.steps
        let end = run.failedStep.map { min($0 + 1, steps.count) } ?? steps.count
        var lines: [(number: Int, text: String, count: Int)] = []
        for number in max(0, end - 4 * mostLines)..<end {
            let text = text(number, steps[number], run)
            if lines.last?.text == text { lines[lines.count - 1].count += 1 } else { lines.append((number, text, 1)) }
        }
        lines = lines.suffix(mostLines)
        let before = lines.first?.number ?? 0
        let told = lines.map { "\(padded("\($0.number + 1)", 6, left: true))  \($0.text)\($0.count > 1 ? "  (\($0.count) times)" : "")" }
        return ((before > 0 ? ["        … \(before) earlier steps"] : []) + told).joined(separator: "\n")
    }

    private static func text(_ number: Int, _ step: ControlledRun.Step, _ run: ControlledRun) -> String {
        let word = Int(step.kind) < words.count ? words[Int(step.kind)] : "goes on"
        let (label, place) = run.account(of: number)
        let what = label.isEmpty ? "" : step.namesQueue ? " of \"\(label)\"" : " \(label)"
        let other = isPreemption(step) ? "  → \(run.threadName(step.chosen)) goes first" : ""
        return "\(padded(run.threadName(step.thread), 10))\(word)\(what)\(place.isEmpty ? "" : "  \(place)")\(other)"
    }

    private static func padded(_ text: String, _ width: Int, left: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return left ? blanks + text : text + blanks + " "
    }
}
