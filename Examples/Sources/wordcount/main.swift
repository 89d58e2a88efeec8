// wordcount JOURNAL [--shard I/N] FILE.gz… — the most frequent words of compressed logs.
//
// Each log is an item, whose output is its own count; the sums are made of the outputs, so a run that was killed goes on
// with the logs that are missing, and still counts every one exactly once.
//
// On a cluster, with 16 shards; the last line sums what the merge wrote:
//     overdrive submit slurm --journal /scratch/words --shards 16 -- \
//         /scratch/bin/wordcount /scratch/words --shard /16 /scratch/logs/*.gz
//     awk '{ n[$1] += $2 } END { for (w in n) print n[w], w }' /scratch/words/output | sort -rn | head -20
import CZlib
import Glibc
import OverdriveBatch

struct LogError: Error, CustomStringConvertible {
    var description: String
}

/// How often each word, in small letters, is in the log at `path`, as lines of the word, a space and the number.
func count(_ path: String, _ attempt: BatchAttempt) throws -> [UInt8] {
    guard let file = gzopen(path, "rb") else { throw LogError(description: String(cString: strerror(errno))) }
    defer { gzclose(file) }
    var counts: [[UInt8]: Int] = [:]
    var word: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 128 * 1024)
    func endWord() {
        if !word.isEmpty { counts[word, default: 0] += 1 }
        word.removeAll(keepingCapacity: true)
    }
    while true {
        try attempt.check()
        let length = Int(gzread(file, &piece, UInt32(piece.count)))
        var number: Int32 = 0
        let message = gzerror(file, &number).map { String(cString: $0) } ?? ""
        // A log that was cut off ends early, which zlib tells beside what it still had.
        guard length >= 0, number == Z_OK || number == Z_STREAM_END else {
            throw LogError(description: message)
        }
        if length == 0 { break }
        for byte in piece[..<length] {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte + 32)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                word.append(byte)
            default: endWord()
            }
        }
    }
    endWord()
    let lines = counts.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    return lines.flatMap { $0.key + Array(" \($0.value)\n".utf8) }
}

var arguments = Array(CommandLine.arguments.dropFirst())
guard !arguments.isEmpty else {
    print("usage: wordcount JOURNAL [--shard I/N] FILE.gz…")
    exit(64)
}
var options = BatchOptions()
options.journal = arguments.removeFirst()
options.endsOnSignals = true
do {
    if arguments.first == "--shard", arguments.count > 1 {
        options.shard = try Shard(arguments[1])
        arguments.removeFirst(2)
    }
    let logs = arguments
    let job = BatchJob(name: "wordcount", version: "1", items: logs) { path, attempt in
        try count(path, attempt)
    }
    var totals: [Substring: Int] = [:]
    let report = try job.run(options) { index, result in
        switch result {
        case .success(let bytes):
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                let parts = line.split(separator: " ")
                if parts.count == 2, let number = Int(parts[1]) { totals[parts[0], default: 0] += number }
            }
        case .failure(let failure): print("failed: \(logs[index]): \(failure)")
        }
    }
    if options.shard == .whole {
        let most = totals.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
        for (word, number) in most.prefix(20) { print(number, word) }
    }
    exit(report.ending == .interrupted ? 130 : report.quarantined.isEmpty ? 0 : 1)
} catch {
    print("wordcount: \(error)")
    exit(1)
}
