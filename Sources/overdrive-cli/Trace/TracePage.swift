internal import OverdriveCore

/// The report as one HTML page, which loads nothing. Labels are escaped.
struct TracePage {
    private let report: TraceReport
    private let timeline: TraceTimeline
    /// The colours' numbers of the labels with the most time; others share the last colour.
    private let colours: [Int: Int]

    private static let colourCount = 8, mostThreads = 64

    init(_ report: TraceReport, _ bytes: UnsafeRawBufferPointer) {
        self.report = report
        timeline = TraceTimeline(bytes, first: report.first, last: report.last)
        colours = Dictionary(uniqueKeysWithValues: report.busiest.prefix(Self.colourCount).enumerated().map { ($1, $0) })
    }

    var html: String {
        var page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        page += "<meta name=\"viewport\" content=\"width=device-width\"><title>\(MarkupText.xml(report.program)): trace</title>"
        page += "<style>\(Self.style)</style></head><body>\n<h1>\(MarkupText.xml(report.head))</h1>\n"
        if !report.reason.isEmpty { page += "<p>\(MarkupText.xml(report.reason))</p>\n" }
        page += "<ul>"
        for finding in report.findings { page += "<li>\(MarkupText.xml(finding))</li>" }
        page += "</ul>\n<h2>Timeline</h2>\n" + legend + threads + axis
        page += "<h2>Queues</h2>\n" + queues + "<h2>More</h2>\n<ul>"
        for line in report.rest { page += "<li>\(MarkupText.xml(line))</li>" }
        return page + "</ul>\n</body></html>\n"
    }

    // MARK: Timeline

    private var legend: String {
        var text = "<p class=\"legend\">"
        for (label, colour) in colours.sorted(by: { $0.value < $1.value }) {
            text += "<span><i class=\"c\(colour)\"></i>\(MarkupText.xml(report.labels[label].name))</span> "
        }
        if report.labels.filter({ $0.count > 0 }).count > colours.count { text += "<span><i class=\"co\"></i>other queues</span> " }
        return text + "<span><i class=\"cb\"></i>blocked</span> <span><i class=\"cs\"></i>stolen branch</span> <span>blank: idle</span></p>\n"
    }

    private var threads: String {
        var text = "<div class=\"rows\">\n"
        let rows = timeline.rows
        for row in rows.prefix(Self.mostThreads) {
            let name = MarkupText.xml(report.file.threads[row.track] ?? "thread")
            text += "<div class=\"name\">\(name)</div><svg viewBox=\"0 0 \(TraceTimeline.columns) 10\" preserveAspectRatio=\"none\">"
            for bar in row.bars where bar.activity != .idle {
                text += "<rect x=\"\(bar.from)\" y=\"0\" width=\"\(bar.to - bar.from)\" height=\"10\" class=\"\(style(of: bar))\">"
                text += "<title>\(MarkupText.xml(title(of: bar)))</title></rect>"
            }
            text += "</svg>\n"
        }
        if rows.count > Self.mostThreads { text += "<div>and \(rows.count - Self.mostThreads) more threads</div>" }
        return text
    }

    private var axis: String {
        let marks = (0...4).map { "<span>\(TraceReport.time(report.duration * UInt64($0) / 4))</span>" }
        return "<div class=\"name\"></div><div class=\"axis\">\(marks.joined())</div></div>\n"
    }

    private func style(of bar: TraceTimeline.Bar) -> String {
        let colour: String =
            switch bar.activity {
            case .closure(let label): colours[label].map { "c\($0)" } ?? "co"
            case .blocked: "cb"
            default: "cs"
            }
        return bar.share == 4 ? colour : "\(colour) s\(bar.share)"
    }

    private func title(of bar: TraceTimeline.Bar) -> String {
        let what: String =
            switch bar.activity {
            case .closure(let label): timeline.labels[label]
            case .blocked: "blocked"
            default: "stolen branch"
            }
        let width = max(1, report.duration / UInt64(TraceTimeline.columns) + 1)
        return "\(what), \(TraceReport.time(UInt64(bar.from) * width)) to \(TraceReport.time(UInt64(bar.to) * width))"
    }

    // MARK: Table

    private var queues: String {
        var text = "<div class=\"wide\"><table><tr>"
        for title in TraceReport.titles + ["idle while it waited"] { text += "<th>\(title)</th>" }
        text += "</tr>\n"
        for label in report.busiest.map({ report.labels[$0] }) {
            let times = [TraceReport.time(label.run), TraceReport.time(label.blocked)] + label.percentiles
            let idle = label.idle > 0 ? "\(TraceReport.time(label.idle)) (\(label.reason.rawValue))" : "-"
            text += "<tr><td>\(MarkupText.xml(label.name))</td><td>\(label.count)</td>"
            for cell in times + [TraceReport.time(label.longest), idle] { text += "<td>\(cell)</td>" }
            text += "</tr>\n"
        }
        return text + "</table></div>\n"
    }

    private static let style = """
        :root{color-scheme:light dark}
        body{font:15px/1.45 system-ui,sans-serif;margin:1.2rem auto;max-width:1300px;padding:0 1rem}
        h1{font-size:1.15rem;overflow-wrap:anywhere}h2{font-size:1rem;margin:1.2rem 0 .4rem}
        li{overflow-wrap:anywhere}
        .rows{display:grid;grid-template-columns:9rem minmax(0,1fr);gap:3px 8px;align-items:center}
        .name{font:12px monospace;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
        svg{width:100%;height:20px;display:block;background:#8882}
        .axis{display:flex;justify-content:space-between;font-size:12px}
        .legend span{white-space:nowrap;margin-right:.8rem;font-size:13px}
        .legend{overflow-wrap:anywhere}
        .legend i{display:inline-block;width:12px;height:12px;margin-right:4px;vertical-align:-1px}
        .c0{fill:#4477aa;background:#4477aa}.c1{fill:#ee8866;background:#ee8866}.c2{fill:#44aa77;background:#44aa77}
        .c3{fill:#aa4499;background:#aa4499}.c4{fill:#bbaa33;background:#bbaa33}.c5{fill:#66ccee;background:#66ccee}
        .c6{fill:#885522;background:#885522}.c7{fill:#ff99bb;background:#ff99bb}.co{fill:#888;background:#888}
        .cb{fill:#cc1111;background:#cc1111}.cs{fill:#bbb;background:#bbb}
        .s1{opacity:.3}.s2{opacity:.55}.s3{opacity:.8}
        .wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}
        td,th{padding:2px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid #8884}
        td:first-child,th:first-child{text-align:left;max-width:22rem;overflow:hidden;text-overflow:ellipsis}
        @media(max-width:700px){.rows{grid-template-columns:minmax(0,1fr)}.name:empty{display:none}}
        """
}
