// Owns the search for a shorter schedule with the same failure. The explorer calls it.

internal import OverdriveCore

extension Explorer {
    /// Attempts of a search. A dead run keeps its threads for ever, so few attempts may end in one.
    private static let attempts = 200, deadAttempts = 12

    /// Returns a schedule with the same failure and few preemptions.
    ///
    /// Searches the schedules with fewest preemptions first. If that takes too long, leaves out exceptions from the usual
    /// choices of the schedule that was found.
    func shrunk(_ found: ControlledRun) -> ControlledRun {
        let kind = Explorer.kind(of: found)
        if kind == .stuck || kind == .outside { return found }
        return withFewestPreemptions(found) ?? withFewerExceptions(found)
    }

    private func isAlike(_ run: ControlledRun, _ found: ControlledRun) -> Bool {
        run.end == found.end && run.hasFailed == found.hasFailed && (run.isDead || run.text == found.text)
            && run.callsFromOutside == 0
    }

    private func withFewestPreemptions(_ found: ControlledRun) -> ControlledRun? {
        let first = run(.continues)
        if isAlike(first, found) { return first }
        var left = Explorer.attempts
        for preemptions in 0...2 where left > 0 {
            let search = schedules(after: first, preemptions, most: left) { run in
                left -= 1
                return isAlike(run, found)
            }
            if case .failed(let run) = search { return run }
        }
        return nil
    }

    /// Leaves out half of the exceptions at once, then fewer.
    private func withFewerExceptions(_ found: ControlledRun) -> ControlledRun {
        var best = found
        var choices = Replay.exceptions(in: best.steps)
        var left = found.isDead ? Explorer.deadAttempts : Explorer.attempts
        var size = max(1, choices.count / 2)
        while left > 0, !choices.isEmpty {
            var start = 0
            var hasShrunk = false
            while start < choices.count, left > 0 {
                var fewer = choices
                fewer.removeSubrange(start..<min(start + size, choices.count))
                let run = run(.continues, forced: fewer)
                left -= 1
                let now = Replay.exceptions(in: run.steps)
                if isAlike(run, found), now.count < choices.count {
                    (best, choices, hasShrunk) = (run, now, true)
                } else {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        return best
    }
}
