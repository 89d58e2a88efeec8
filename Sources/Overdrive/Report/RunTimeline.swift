// Owns the picture of a run over time: a bar for each task or node. `RunReport` and the report of an app draw it.

internal import OverdriveCore

/// A picture of tasks or nodes over time, with arrows to the dependents.
package struct RunTimeline {
    /// A task or a node.
    package struct Bar {
        package let name: String
        /// Indices of bars.
        package let dependencies: [Int]
        package let ready: Duration
        package let started: Duration?, ended: Duration?
        package let isCritical: Bool
        package let isFailed: Bool
        /// The word for a bar that never started.
        package let note: String

        package init(
            name: String, dependencies: [Int], ready: Duration, started: Duration?, ended: Duration?, isCritical: Bool, isFailed: Bool,
            note: String
        ) {
            self.name = name
            self.dependencies = dependencies
            self.ready = ready
            self.started = started
            self.ended = ended
            self.isCritical = isCritical
            self.isFailed = isFailed
            self.note = note
        }

        var length: Duration { (ended ?? .zero) - (started ?? .zero) }
    }

    private let title: String
    private let bars: [Bar]
    private static var most: Int { 200 }

    package init(title: String, bars: [Bar]) {
        self.title = title
        self.bars = bars
    }

    /// Returns the critical path, the last first: the one that ended last, its dependency that ended last, and so on.
    package static func criticalPath(_ ends: [Duration?], _ dependencies: (Int) -> some Sequence<Int>) -> [Int] {
        func latest(_ indices: some Sequence<Int>) -> Int? {
            indices.filter { ends[$0] != nil }.max { ends[$0] ?? .zero < ends[$1] ?? .zero }
        }
        var (path, known): ([Int], Set<Int>) = ([], [])
        var next = latest(ends.indices)
        while let index = next, known.insert(index).inserted {
            path.append(index)
            next = latest(dependencies(index))
        }
        return path
    }

    /// Returns the mean number of bars that ran in each of equally long slices.
    static func parallelism(_ spans: some Sequence<(Duration?, Duration?)>, until total: Duration, slices: Int) -> [Double] {
        var (inside, whole) = ([Double](repeating: 0, count: slices), [Double](repeating: 0, count: slices + 1))
        guard total > .zero else { return inside }
        for (started, ended) in spans {
            guard let started, let ended else { continue }
            let (start, end) = (Double(slices) * (started / total), Double(slices) * (ended / total))
            let (first, last) = (max(0, min(slices - 1, Int(start))), max(0, min(slices - 1, Int(end))))
            if first == last {
                inside[first] += end - start
            } else {
                inside[first] += Double(first + 1) - start
                inside[last] += end - Double(last)
                whole[first + 1] += 1
                whole[last] -= 1
            }
        }
        var running = 0.0
        return inside.indices.map { slice in
            running += whole[slice]
            return inside[slice] + running
        }
    }

    /// Returns the indices of the slowest ones and of the critical path, in the order of `byStart`.
    static func mostImportant(_ byStart: [Int], length: (Int) -> Duration, isCritical: (Int) -> Bool) -> [Int] {
        guard byStart.count > most else { return byStart }
        let longest = Set(byStart.sorted { length($0) > length($1) }.prefix(most))
        let critical = Set(byStart.lazy.filter(isCritical).prefix(most))
        return byStart.filter { longest.contains($0) || critical.contains($0) }
    }

    private var shown: [Int] {
        let byStart = bars.indices.sorted { (bars[$0].started ?? .seconds(1 << 40), $0) < (bars[$1].started ?? .seconds(1 << 40), $1) }
        return RunTimeline.mostImportant(byStart, length: { bars[$0].length }, isCritical: { bars[$0].isCritical })
    }

    /// The picture as SVG. With more than 200 bars it has the 200 slowest ones and the critical path.
    package func svg() -> String {
        let shown = shown
        let rows = Dictionary(uniqueKeysWithValues: shown.enumerated().map { ($0.element, $0.offset) })
        let total = max(shown.compactMap { bars[$0].ended ?? bars[$0].started }.max() ?? .zero, .microseconds(1))
        let letters = min(max(shown.map { bars[$0].name.count }.max() ?? 0, 8), 40)
        let (left, right, crowd, rowHeight) = (16 + 7 * letters, 120, 56, 24)
        let top = crowd + RunTimeline.crowdHeight
        let (plot, height) = (900, top + rowHeight * shown.count + 40)
        func x(_ time: Duration) -> Double { Double(left) + Double(plot) * (time / total) }
        func middle(_ index: Int) -> Int { top + rowHeight * (rows[index] ?? 0) + rowHeight / 2 }

        var parts: [String] = []
        let (width, axis) = (left + plot + right, top + rowHeight * shown.count)
        parts.append(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\" font-family=\"sans-serif\" font-size=\"12\">")
        parts.append("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")
        parts.append("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#666\"/></marker></defs>")
        parts.append("<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">\(MarkupText.xml(title))</text>")
        parts.append("<text x=\"16\" y=\"42\" fill=\"#666\">red: the critical path; blue: other tasks; grey: waited for a worker; arrows: waited for; curve: how many ran at once</text>")
        parts += parallelismPicture(until: total, left: left, top: crowd, width: plot)
        for tick in 0...5 {
            let time = total * tick / 5
            parts.append("<line x1=\"\(place(x(time)))\" y1=\"\(top)\" x2=\"\(place(x(time)))\" y2=\"\(axis)\" stroke=\"#ddd\"/>")
            parts.append("<text x=\"\(place(x(time)))\" y=\"\(axis + 18)\" text-anchor=\"middle\" fill=\"#666\">\(ReportText.time(time))</text>")
        }
        for index in shown {
            let (bar, y) = (bars[index], middle(index))
            parts.append("<text x=\"\(left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">\(MarkupText.xml(shortened(bar.name)))</text>")
            guard let start = bar.started else {
                parts.append("<text x=\"\(left + 4)\" y=\"\(y + 4)\" fill=\"#999\">\(bar.note)</text>")
                continue
            }
            let end = bar.ended ?? total
            if start > bar.ready {
                parts.append("<line x1=\"\(place(x(bar.ready)))\" y1=\"\(y)\" x2=\"\(place(x(start)))\" y2=\"\(y)\" stroke=\"#bbb\" stroke-width=\"3\"/>")
            }
            let color = bar.isFailed ? "#000" : bar.isCritical ? "#d33" : "#37c"
            parts.append("<rect x=\"\(place(x(start)))\" y=\"\(y - 7)\" width=\"\(place(max(1.5, x(end) - x(start))))\" height=\"14\" rx=\"2\" fill=\"\(color)\"><title>\(MarkupText.xml(bar.name)): \(ReportText.time(start)) to \(ReportText.time(end))</title></rect>")
            parts.append("<text x=\"\(place(x(end) + 5))\" y=\"\(y + 4)\" fill=\"#444\">\(ReportText.time(end - start))\(bar.isFailed ? " failed" : "")</text>")
        }
        for index in shown {
            guard let start = bars[index].started else { continue }
            for dependency in bars[index].dependencies where rows[dependency] != nil {
                guard let ended = bars[dependency].ended else { continue }
                let isCritical = bars[index].isCritical && bars[dependency].isCritical
                let (x1, y1, x2, y2) = (x(ended), middle(dependency), x(start), middle(index))
                parts.append("<path d=\"M\(place(x1)) \(y1 + (y2 > y1 ? 7 : -7)) L\(place(x2)) \(y2 + (y2 > y1 ? -8 : 8))\" fill=\"none\" stroke=\"\(isCritical ? "#d33" : "#666")\" stroke-width=\"1\" opacity=\"0.7\" marker-end=\"url(#tip)\"/>")
            }
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n") + "\n"
    }

    private static var crowdHeight: Int { 64 }

    /// Returns the area above the bars: how many of all bars ran at once, with the greatest number beside it.
    private func parallelismPicture(until total: Duration, left: Int, top: Int, width: Int) -> [String] {
        let numbers = RunTimeline.parallelism(
            bars.lazy.map { bar in (bar.started, bar.started == nil ? nil : bar.ended ?? total) }, until: total, slices: 180)
        let (most, height) = (max(numbers.max() ?? 0, 0.1), Double(RunTimeline.crowdHeight - 16))
        let base = Double(top) + height
        var points = "M\(left) \(place(base))"
        for (slice, number) in numbers.enumerated() {
            let y = place(base - height * number / most)
            points += " L\(place(Double(left) + Double(width) * Double(slice) / 180)) \(y) L\(place(Double(left) + Double(width) * Double(slice + 1) / 180)) \(y)"
        }
        return [
            "<path d=\"\(points) L\(left + width) \(place(base))z\" fill=\"#cde\" stroke=\"#68a\" stroke-width=\"0.5\"/>",
            "<text x=\"\(left - 8)\" y=\"\(place(base))\" text-anchor=\"end\" fill=\"#666\">ran at once</text>",
            "<text x=\"\(left + width + 5)\" y=\"\(top + 8)\" fill=\"#666\">\(place(most))</text>",
        ]
    }

    private func place(_ number: Double) -> String { ReportText.tenths(number) }

    private func shortened(_ name: String) -> String { name.count <= 40 ? name : name.prefix(39) + "…" }
}
