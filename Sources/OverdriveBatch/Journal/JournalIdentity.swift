/// The identity of a journal. A journal with another identity is refused.
struct JournalIdentity: Equatable {
    var job: String
    var version: String
    /// The number of items of the whole job, not only of this shard.
    var count: Int
    /// A hash of the items' names.
    var items: UInt64
    var shard: Shard

    /// Returns the difference from `other` in words; nil if there is none.
    func difference(from other: JournalIdentity) -> String? {
        if job != other.job { return "it belongs to the job '\(job)', not '\(other.job)'" }
        if version != other.version {
            return "it belongs to version '\(version)' of the job, not '\(other.version)'"
        }
        if count != other.count { return "it lists \(count) items, not \(other.count)" }
        if items != other.items { return "its list of items differs" }
        if shard != other.shard { return "it belongs to shard \(shard), not \(other.shard)" }
        return nil
    }
}

/// The first record of a segment: the identity, the writer, and the valid lengths of the earlier segments.
struct SegmentHeader: Equatable {
    var identity: JournalIdentity
    var host: Host
    var process: Int
    /// The number of valid bytes of each earlier generation. Later bytes of its writer are ignored.
    var sealed: [Int: Int]

    /// The format of new journals. Format 1 had no checksums in the flight file.
    static let currentFormat = 2
    private static let formatName = "overdrive journal "
    /// The format of the segment and of its flight file.
    var format = SegmentHeader.currentFormat

    /// The header as readable lines, so that `strings` displays them. A line feed in a name becomes \\n, and a
    /// backslash becomes two.
    var text: [UInt8] {
        let seals = sealed.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
        let lines = [
            Self.formatName + String(format), "job=\(Self.escape(identity.job))", "version=\(Self.escape(identity.version))",
            "count=\(identity.count)", "items=\(identity.items)",
            "shard=\(identity.shard)", "host=\(Self.escape(host.name))", "boot=\(host.boot)",
            "process=\(process)",
            "sealed=\(seals)",
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    init(identity: JournalIdentity, host: Host, process: Int, sealed: [Int: Int]) {
        (self.identity, self.host, self.process, self.sealed) = (identity, host, process, sealed)
    }

    /// Returns the format number of a header; nil if the text is no header.
    static func format(of text: some Sequence<UInt8>) -> Int? {
        let line = String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)
        return line.hasPrefix(formatName) ? Int(line.dropFirst(formatName.count)) : nil
    }

    init?(_ text: some Sequence<UInt8>) {
        let text = Array(text)
        let lines = String(decoding: text, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard let format = Self.format(of: text), (1...Self.currentFormat).contains(format) else { return nil }
        self.format = format
        var fields: [Substring: String] = [:]
        for line in lines.dropFirst() {
            guard let equals = line.firstIndex(of: "=") else { return nil }
            fields[line[..<equals]] = Self.unescape(line[line.index(after: equals)...])
        }
        guard let job = fields["job"], let version = fields["version"],
            let count = fields["count"].flatMap({ Int($0) }),
            let items = fields["items"].flatMap({ UInt64($0) }),
            let shard = fields["shard"].flatMap({ try? Shard($0) }),
            let host = fields["host"], let boot = fields["boot"],
            let process = fields["process"].flatMap({ Int($0) }),
            let seals = fields["sealed"]
        else { return nil }
        identity = JournalIdentity(job: job, version: version, count: count, items: items, shard: shard)
        self.host = Host(name: host, boot: boot)
        self.process = process
        sealed = [:]
        for seal in seals.split(separator: ",") {
            let parts = seal.split(separator: ":").compactMap { Int($0) }
            guard parts.count == 2 else { return nil }
            sealed[parts[0]] = parts[1]
        }
    }

    private static func escape(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "\\" ? "\\\\" : $1 == "\n" ? "\\n" : String($1) }
    }

    private static func unescape(_ text: Substring) -> String {
        var result = ""
        var rest = text[...]
        while let first = rest.popFirst() {
            guard first == "\\", let letter = rest.popFirst() else {
                result.append(first)
                continue
            }
            result.append(letter == "n" ? "\n" : letter)
        }
        return result
    }
}
