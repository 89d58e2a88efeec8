import Foundation

/// The words of some files, each with how often it comes: files are read at the same time, the table is changed by one
/// at a time.
final class WordCount: @unchecked Sendable {
    private let table = DispatchQueue(label: "table", attributes: .concurrent)
    private let readers = DispatchQueue(label: "readers", attributes: .concurrent)
    private let openFiles = DispatchSemaphore(value: 8)
    private var counts: [String: Int] = [:]

    func count(_ files: [URL]) {
        let group = DispatchGroup()
        for file in files {
            readers.async(group: group) {
                self.openFiles.wait()
                defer { self.openFiles.signal() }
                guard let text = try? String(contentsOf: file, encoding: .utf8) else { return }
                let words = Dictionary(text.lowercased().split { !$0.isLetter }.map { (String($0), 1) }, uniquingKeysWith: +)
                self.table.async(group: group, flags: .barrier) {
                    self.counts.merge(words, uniquingKeysWith: +)
                }
            }
        }
        group.wait()
    }

    /// The most frequent first.
    func top(_ number: Int) -> [(word: String, count: Int)] {
        table.sync {
            counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(number).map { ($0.key, $0.value) }
        }
    }
}
