extension AppReport {
    /// The boot as an SVG picture. It has a bar for each task over time, and arrows to the dependents. The critical
    /// path is red; waits for a worker are grey.
    ///
    /// With more than 200 tasks, the picture shows the 200 slowest ones and the critical path.
    public var picture: String {
        let shown = shownTasks
        let rows = Dictionary(uniqueKeysWithValues: shown.enumerated().map { ($0.element, $0.offset) })
        let total = max(shown.compactMap { tasks[$0].ended ?? tasks[$0].started }.max() ?? .zero, .microseconds(1))
        let (left, right, top, rowHeight) = (16 + 7 * (shown.map { tasks[$0].task.count }.max() ?? 0).clamped(to: 8...40), 120, 56, 24)
        let (plot, height) = (900, top + rowHeight * shown.count + 40)
        func x(_ time: Duration) -> Double { Double(left) + Double(plot) * (time / total) }
        func middle(_ index: Int) -> Int { top + rowHeight * (rows[index] ?? 0) + rowHeight / 2 }

        var parts: [String] = []
        let (width, axis) = (left + plot + right, top + rowHeight * shown.count)
        parts.append(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\" font-family=\"sans-serif\" font-size=\"12\">")
        parts.append("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")
        parts.append("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#666\"/></marker></defs>")
        let title = bootTime.map { "The boot: \(tasks.count) tasks, \(label($0))" } ?? "The boot: \(tasks.count) tasks, not finished"
        parts.append("<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">\(escaped(title))</text>")
        parts.append("<text x=\"16\" y=\"42\" fill=\"#666\">red: the critical path; blue: other tasks; grey: waited for a worker; arrows: waited for</text>")
        for tick in 0...5 {
            let time = total * tick / 5
            parts.append("<line x1=\"\(place(x(time)))\" y1=\"\(top)\" x2=\"\(place(x(time)))\" y2=\"\(axis)\" stroke=\"#ddd\"/>")
            parts.append("<text x=\"\(place(x(time)))\" y=\"\(axis + 18)\" text-anchor=\"middle\" fill=\"#666\">\(label(time))</text>")
        }
        for index in shown {
            let (task, y) = (tasks[index], middle(index))
            parts.append("<text x=\"\(left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">\(escaped(shortened(task.task)))</text>")
            guard let start = task.started else {
                parts.append("<text x=\"\(left + 4)\" y=\"\(y + 4)\" fill=\"#999\">\(task.outcome.rawValue)</text>")
                continue
            }
            let end = task.ended ?? total
            if start > task.ready {
                parts.append("<line x1=\"\(place(x(task.ready)))\" y1=\"\(y)\" x2=\"\(place(x(start)))\" y2=\"\(y)\" stroke=\"#bbb\" stroke-width=\"3\"/>")
            }
            let color = task.outcome == .failed ? "#000" : task.isCritical ? "#d33" : "#37c"
            parts.append("<rect x=\"\(place(x(start)))\" y=\"\(y - 7)\" width=\"\(place(max(1.5, x(end) - x(start))))\" height=\"14\" rx=\"2\" fill=\"\(color)\"><title>\(escaped(task.task)): \(label(start)) to \(label(end))</title></rect>")
            parts.append("<text x=\"\(place(x(end) + 5))\" y=\"\(y + 4)\" fill=\"#444\">\(label(end - start))\(task.outcome == .failed ? " failed" : "")</text>")
        }
        for index in shown {
            guard let start = tasks[index].started else { continue }
            for dependency in tasks[index].dependencies where rows[dependency] != nil {
                guard let ended = tasks[dependency].ended else { continue }
                let isCritical = tasks[index].isCritical && tasks[dependency].isCritical
                let (x1, y1, x2, y2) = (x(ended), middle(dependency), x(start), middle(index))
                let bend = x2 + 0.0
                parts.append("<path d=\"M\(place(x1)) \(y1 + (y2 > y1 ? 7 : -7)) L\(place(bend)) \(y2 + (y2 > y1 ? -8 : 8))\" fill=\"none\" stroke=\"\(isCritical ? "#d33" : "#666")\" stroke-width=\"1\" opacity=\"0.7\" marker-end=\"url(#tip)\"/>")
            }
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n") + "\n"
    }

    private var shownTasks: [Int] {
        let byStart = tasks.indices.sorted { (tasks[$0].started ?? .seconds(1 << 40), $0) < (tasks[$1].started ?? .seconds(1 << 40), $1) }
        guard byStart.count > 200 else { return byStart }
        func length(_ index: Int) -> Duration { (tasks[index].ended ?? .zero) - (tasks[index].started ?? .zero) }
        let longest = Set(byStart.sorted { length($0) > length($1) }.prefix(200))
        let critical = tasks.indices.filter { tasks[$0].isCritical }.prefix(200)
        return byStart.filter { longest.contains($0) || critical.contains($0) }
    }

    private func label(_ time: Duration) -> String {
        let microseconds = Double(time.nanosecondCount) / 1000
        if microseconds < 1000 { return "\(place(microseconds)) µs" }
        if microseconds < 1_000_000 { return "\(place(microseconds / 1000)) ms" }
        return "\(place(microseconds / 1_000_000)) s"
    }

    /// Returns a number with one decimal.
    private func place(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }

    private func shortened(_ name: String) -> String { name.count <= 40 ? name : name.prefix(39) + "…" }

    private func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
    }
}

extension Int {
    fileprivate func clamped(to range: ClosedRange<Int>) -> Int { Swift.min(Swift.max(self, range.lowerBound), range.upperBound) }
}
