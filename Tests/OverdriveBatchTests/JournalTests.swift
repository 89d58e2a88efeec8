import Glibc
import OverdriveCore
import Testing

@testable import OverdriveBatch

/// A directory that goes with the test.
final class Scratch {
    let path: String

    init() throws {
        var template = Array("/tmp/overdrive-batch-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        _ = removeTree(path)
    }

    private func removeTree(_ path: String) -> Bool {
        if unlink(path) == 0 { return true }
        guard let stream = opendir(path) else { return false }
        while let entry = readdir(stream) {
            guard let field = entry.pointer(to: \.d_name) else { continue }
            let name = String(cString: UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self))
            if name != ".", name != ".." { _ = removeTree("\(path)/\(name)") }
        }
        closedir(stream)
        return rmdir(path) == 0
    }

    func bytes(_ name: String) throws -> [UInt8] { try MappedFile("\(path)/\(name)").withBytes { Array($0) } }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        try #require(file >= 0)
        defer { close(file) }
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }
}

@Suite("The journal")
struct JournalTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    static let identity = JournalIdentity(job: "job\\\nx", version: "1", count: 1000, items: 7, shard: .whole)

    private func writer(
        _ scratch: Scratch, identity: JournalIdentity = Self.identity, host: Host = .current,
        locks: Bool = true,
        patience: Double = 0.6
    ) throws -> JournalWriter {
        try JournalWriter(
            scratch.path, identity: identity, wantsOutputs: true, slots: 2, host: host, locks: locks,
            patience: patience)
    }

    private func entries(_ items: [(Int, [UInt8])]) -> [UInt8] {
        var writer = EntryWriter()
        for (index, bytes) in items { writer.append(index: index, kind: .output, attempts: 1, bytes: bytes) }
        return writer.take()
    }

    @Test("CRC-32C is the one of RFC 3720")
    func checksum() {
        let value = Array("123456789".utf8).withUnsafeBytes { Checksum32.of($0) }
        #expect(value == 0xE306_9283)
        let zeros = [UInt8](repeating: 0, count: 32).withUnsafeBytes { Checksum32.of($0) }
        #expect(zeros == 0x8A91_36AA)
    }

    @Test("entries come back as they were written, whatever the distances")
    func entries() {
        let items = [(999, [1, 2, 3]), (0, []), (1, Array(repeating: UInt8(9), count: 300)), (0, [0])]
        var writer = EntryWriter()
        for (index, bytes) in items {
            writer.append(index: index, kind: .quarantined, attempts: 70_000, bytes: bytes)
        }
        let bytes = writer.take()
        bytes.withUnsafeBytes { bytes in
            var reader = EntryReader(bytes)
            for (index, output) in items {
                guard let entry = reader.next() else {
                    Issue.record("an entry is missing")
                    return
                }
                #expect(entry.index == index && entry.kind == .quarantined && entry.attempts == 70_000)
                #expect(Array(bytes[entry.bytes]) == output)
            }
            #expect(reader.next() == nil)
            #expect(reader.place == bytes.count)
        }
    }

    @Test("gives back what was committed, and only that, over three writers")
    func resume() throws {
        do {
            let first = try writer(scratch)
            first.append(entries([(3, [33]), (1, [])]))
            try first.commit()
            first.append(entries([(4, [44])]))  // Never committed: as when it is killed here.
        }
        do {
            let second = try writer(scratch)
            #expect(second.contents.output(of: 3) == [33])
            #expect(second.contents.output(of: 1) == [])
            #expect(!second.contents.ended.contains(4))
            #expect(!second.contents.endedOrderly)
            second.append(entries([(4, [45])]))
            try second.end()
        }
        let third = try writer(scratch)
        #expect(third.contents.output(of: 4) == [45])
        #expect(third.contents.doneCount == 3)
        #expect(third.contents.endedOrderly)
        #expect(access("\(scratch.path)/000002.flight", F_OK) != 0 && access("\(scratch.path)/000003.flight", F_OK) == 0)
    }

    @Test("has one writer: the second is told who the first is")
    func locked() throws {
        let first = try writer(scratch)
        #expect {
            _ = try writer(scratch)
        } throws: {
            guard case BatchError.locked(_, let owner) = $0 else { return false }
            return owner.contains("process \(getpid())")
        }
        try first.commit()
    }

    @Test("of another job, version, list or shard is refused with a sentence, and not changed")
    func foreign() throws {
        try writer(scratch).end()
        let changes: [(WritableKeyPath<JournalIdentity, String>?, String)] = [
            (\.job, "job"), (\.version, "version"), (nil, "list"),
        ]
        for (path, word) in changes {
            var other = Self.identity
            if let path { other[keyPath: path] = "other" } else { other.items = 8 }
            #expect {
                _ = try writer(scratch, identity: other)
            } throws: {
                guard case BatchError.foreign(_, let difference) = $0 else { return false }
                return difference.contains(word)
            }
        }
        var other = Self.identity
        other.count = 999
        #expect(throws: BatchError.foreign(journal: scratch.path, difference: "it lists 1000 items, not 999")) { _ = try writer(scratch, identity: other) }
        other = Self.identity
        other.shard = try Shard("1/2")
        #expect(throws: BatchError.self) { _ = try writer(scratch, identity: other) }
        #expect(try JournalDirectory.generations(in: scratch.path) == [1])
        _ = try writer(scratch)
    }

    @Test("cut off at any byte loses what was cut and tells how much")
    func cutOff() throws {
        do {
            let first = try writer(scratch)
            first.append(entries([(1, [1])]))
            try first.commit()
            first.append(entries([(2, Array(repeating: 2, count: 50))]))
            try first.commit()
        }
        let whole = try scratch.bytes("000001.journal")
        let last = 16 + 3 + 50  // The last record: its head, an index, attempts and length, and the bytes.
        for cut in 1..<last {
            try scratch.write("000001.journal", Array(whole.dropLast(cut)))
            let contents = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: true)
            #expect(contents.output(of: 1) == [1])
            #expect(contents.output(of: 2) == nil)
            #expect(contents.cutOff == last - cut)
        }
        try writer(scratch).end()
        // It is told once.
        #expect(try JournalContents.read(scratch.path, count: 1000, wantsOutputs: false).cutOff == 0)
    }

    @Test("with any bit changed is told, never guessed around")
    func damage() throws {
        do {
            let first = try writer(scratch)
            first.append(entries([(1, [1, 2, 3]), (2, [4])]))
            try first.end()
        }
        let whole = try scratch.bytes("000001.journal")
        for place in whole.indices {
            for bit in 0..<8 {
                var changed = whole
                changed[place] ^= 1 << UInt8(bit)
                try scratch.write("000001.journal", changed)
                #expect(throws: BatchError.self, "byte \(place), bit \(bit)") {
                    _ = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: false)
                }
            }
        }
    }

    @Test("whose last record ends with a block of the disk is damaged where that record is, and not unwritten")
    func damageAtBlock() throws {
        do {
            let first = try writer(scratch)
            let start = try scratch.bytes("000001.journal").count + 20  // a record's head, and what names the item
            first.append(entries([(1, Array(repeating: 1, count: 1024 - start % 512))]))
            try first.commit()
        }
        var whole = try scratch.bytes("000001.journal")
        try #require(whole.count % 512 == 0)
        whole[whole.count - 1] ^= 1
        try scratch.write("000001.journal", whole)
        #expect(throws: BatchError.self) { _ = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: false) }
    }

    @Test("that a later one relies on is damaged when it is cut short or ends in zeros")
    func cutBehindSeal() throws {
        for index in 1...2 {
            let writer = try writer(scratch)
            writer.append(entries([(index, [1, 2, 3])]))
            try writer.end()
        }
        let whole = try scratch.bytes("000001.journal")
        for zeros in [0, 16] {
            try scratch.write("000001.journal", Array(whole.dropLast(16)) + Array(repeating: 0, count: zeros))
            #expect(throws: BatchError.self) { _ = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: false) }
        }
    }

    @Test("that ends in zeros, as a power failure leaves a file, loses what was not yet written and tells how much")
    func unwrittenTail() throws {
        do {
            let first = try writer(scratch)
            first.append(entries([(1, [1])]))
            try first.commit()
            first.append(entries([(2, Array(repeating: 2, count: 3000))]))
            try first.commit()
        }
        let whole = try scratch.bytes("000001.journal")
        let last = whole.count - (16 + 4 + 3000)
        let blocks = stride(from: (last / 512 + 1) * 512, to: whole.count, by: 512)
        for start in [last] + blocks {
            try scratch.write("000001.journal", Array(whole[..<start]) + Array(repeating: 0, count: 5000))
            let contents = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: true)
            #expect(contents.output(of: 1) == [1])
            #expect(contents.output(of: 2) == nil)
            #expect(contents.cutOff == start + 5000 - last)
        }
        // Something behind the zeros was written: that is damage.
        try scratch.write("000001.journal", Array(whole[..<last]) + Array(repeating: 0, count: 5000) + [1])
        #expect(throws: BatchError.self) {
            _ = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: true)
        }
    }

    @Test("damaged says how to go on, and that works: in the last file and in those before it")
    func remedies() throws {
        for index in 1...2 {
            let writer = try writer(scratch)
            writer.append(entries([(index, [1, 2, 3])]))
            try writer.commit()
            writer.append(entries([(index + 10, [4])]))
            try writer.commit()
        }
        func remedy() throws -> String {
            let error = #expect(throws: BatchError.self) { _ = try writer(scratch) }
            guard case .corrupt(_, _, let remedy) = error else { return "" }
            return remedy
        }
        for (name, command, left) in [("000002", "truncate", [1, 11, 2]), ("000001", "mv", [2])] {
            var bytes = try scratch.bytes("\(name).journal")
            bytes[bytes.count - 1] ^= 1
            try scratch.write("\(name).journal", bytes)
            let text = try remedy()
            let words = try #require(text.firstRange(of: command)).lowerBound
            let line = text[words...].prefix { $0 != "," }
            #expect(system(String(line)) == 0, "\(line)")
            let contents = try writer(scratch).contents
            #expect((0..<1000).filter { contents.ended.contains($0) } == left.sorted())
        }
    }

    @Test("of a node that lies still is taken over, and its writer is fenced off when it comes back")
    func takeover() throws {
        let dead = try writer(scratch, host: Host(name: "other", boot: "x"), locks: false)
        dead.append(entries([(1, [1])]))
        try dead.commit()
        let successor = try writer(scratch, locks: false)
        #expect(successor.contents.output(of: 1) == [1])
        // Back from the dead: what it writes is refused, and does not count for those who read.
        dead.append(entries([(2, [2])]))
        #expect(throws: BatchError.fenced(journal: scratch.path)) { try dead.commit() }
        dead.append(entries([(3, [3])]))
        #expect(throws: BatchError.fenced(journal: scratch.path)) { try dead.commit() }
        successor.append(entries([(2, [22])]))
        try successor.end()
        let contents = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: true)
        #expect(contents.output(of: 2) == [22])
        #expect(contents.doubles == [])
    }

    @Test("of this machine before it was started anew is taken over at once")
    func restarted() throws {
        let dead = try writer(scratch, host: Host(name: Host.current.name, boot: "before"), locks: false)
        try dead.commit()
        let begin = ContinuousClock.now
        _ = try writer(scratch, locks: false, patience: 60)
        #expect(ContinuousClock.now - begin < .seconds(50))
    }

    @Test("that has an item twice is no whole")
    func double() throws {
        let writer = try writer(scratch)
        writer.append(entries([(1, [1]), (1, [2])]))
        try writer.end()
        #expect(throws: BatchError.incomplete("1 items were done by two shards: '1'")) { try BatchMerge(scratch.path).validate { "\($0)" } }
    }

    @Test("of two shards that have one item is no whole, and puts that out once")
    func sharedItem() throws {
        for index in 0...1 {
            var identity = Self.identity
            identity.shard = try Shard("\(index)/2")
            let writer = try JournalWriter(
                JournalDirectory.shard(identity.shard, in: scratch.path), identity: identity, wantsOutputs: false, slots: 1)
            writer.append(entries([(7, [UInt8(index)])]))
            try writer.end()
        }
        let merge = try BatchMerge(scratch.path)
        var seen: [Int] = []
        merge.outputs { index, _ in seen.append(index) }
        #expect(seen == [7])
        #expect(throws: BatchError.incomplete("1 items were done by two shards: '7'")) { try merge.validate { "\($0)" } }
    }

    @Test("whose writer gives signs of life is locked: of a node, and of this one where locks tell nothing", arguments: [true, false])
    func alive(isElsewhere: Bool) throws {
        let host = isElsewhere ? Host(name: "other", boot: "x") : .current
        let living = try writer(scratch, host: host, locks: false)
        let path = "\(scratch.path)/000001.journal"
        let size = try scratch.bytes("000001.journal").count
        // It writes once the other has begun to watch, which the watcher's own reading tells nobody: so again and again.
        let isOver = CancellationToken()
        let group = WaitGroup()
        TaskQueue.global().async(group: group) {
            while !isOver.isCancelled {
                let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
                var beat: [UInt8] = []
                Segment.append(.heartbeat, [], to: &beat)
                _ = Glibc.write(file, beat, beat.count)
                close(file)
                usleep(50_000)
            }
        }
        #expect(throws: BatchError.locked(journal: path, owner: "process \(getpid()) on \(host.name)")) {
            _ = try writer(scratch, locks: false, patience: 30)
        }
        isOver.cancel()
        group.wait()
        #expect(try scratch.bytes("000001.journal").count > size)
        living.appendHeartbeat()
        try living.commit()
    }

    @Test("of a crash names its item also where the run after it has died before it wrote anything", arguments: [true, false])
    func blameBehindSilence(hasHeader: Bool) throws {
        do {
            let crashed = try writer(scratch)
            crashed.append(entries([(1, [1])]))
            try crashed.commit()
            crashed.flight.begin(5, slot: 0)
            crashed.flight.begin(1, slot: 1)  // which had ended
        }
        if hasHeader { _ = try writer(scratch) } else { try scratch.write("000002.journal", []) }
        #expect(try writer(scratch).leftovers == [Flight.Leftover(index: 5, signal: 0)])
        do {
            let noted = try writer(scratch)
            noted.append(entries([(2, [2])]))
            try noted.commit()
        }
        #expect(try writer(scratch).leftovers == [], "one that has written has written of the crash, too")
    }

    /// A program that was started just then had the lock until its exec, and the next run was refused.
    @Test("is free when its writer has ended, whatever process has its descriptors yet")
    func startedMeanwhile() throws {
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
        var child: pid_t = 0
        do {
            let writer = try writer(scratch)
            child = fork()
            if child == 0 { while true { pause() } }
            try writer.end()
        }
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        try writer(scratch).end()
    }

    @Test("has its last word on an item that was given up twice")
    func givenUpTwice() throws {
        for error in ["old", "new"] {
            var entries = EntryWriter()
            entries.append(index: 1, kind: .quarantined, attempts: 1, bytes: Array(error.utf8))
            let writer = try writer(scratch)
            writer.append(entries.take())
            try writer.end()
        }
        let contents = try JournalContents.read(scratch.path, count: 1000, wantsOutputs: false)
        #expect(contents.quarantined[1]?.error == Array("new".utf8) && contents.doneCount == 0)
    }

    @Test("whose note of an item under way has a changed byte is refused by the file's name, blames none and says how to go on")
    func damagedNote() throws {
        do {
            let killed = try writer(scratch)
            killed.append(entries([(1, [1])]))
            try killed.commit()
            killed.flight.begin(5, slot: 0)
        }
        let whole = try scratch.bytes("000001.flight")
        let checkedBytes = [0..<8, 16..<24, 64..<72].joined()
        for place in checkedBytes {
            for change: UInt8 in [1, 0x80, 0xff] {
                var damaged = whole
                damaged[place] ^= change
                try scratch.write("000001.flight", damaged)
                let error = #expect(throws: BatchError.self, "byte \(place)") { _ = try writer(scratch) }
                guard case .corrupt(let file, let byte, _) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(file.hasSuffix("/000001.flight") && byte == place / 8 * 8)
            }
        }
        rename("\(scratch.path)/000001.flight", "\(scratch.path)/000001.flight.damaged")
        #expect(try writer(scratch).leftovers == [])
    }

    @Test("of the first format is read, its notes included")
    func firstFormat() throws {
        var header = SegmentHeader(identity: Self.identity, host: .current, process: 1, sealed: [:])
        header.format = 1
        var bytes: [UInt8] = []
        Segment.append(.header, header.text, to: &bytes)
        Segment.append(.entries, entries([(1, [1])]), to: &bytes)
        try scratch.write("000001.journal", bytes)
        var note = [UInt8](repeating: 0, count: 128)
        (note[0], note[16]) = (6, 11)
        try scratch.write("000001.flight", note)
        let next = try writer(scratch)
        #expect(next.leftovers == [Flight.Leftover(index: 5, signal: 11)])
        #expect(next.contents.output(of: 1) == [1])
    }

    @Test("of a later format is refused in a sentence that names both formats")
    func laterFormat() throws {
        var header = SegmentHeader(identity: Self.identity, host: .current, process: 1, sealed: [:])
        header.format = 9
        var bytes: [UInt8] = []
        Segment.append(.header, header.text, to: &bytes)
        try scratch.write("000001.journal", bytes)
        let error = #expect(throws: BatchError.self) { _ = try writer(scratch) }
        #expect(error?.description.contains("it has format 9, and this version reads formats 1 to 2") == true)
    }

    @Test("that is refused leaves no file and no descriptor behind")
    func refusedLeavesNothing() throws {
        try writer(scratch).end()
        func count(_ folder: String) -> Int {
            guard let stream = opendir(folder) else { return -1 }
            defer { closedir(stream) }
            var count = 0
            while readdir(stream) != nil { count += 1 }
            return count
        }
        var other = Self.identity
        other.job = "other"
        let files = count(scratch.path)
        let descriptors = count("/proc/self/fd")
        for _ in 0..<200 { #expect(throws: BatchError.self) { _ = try writer(scratch, identity: other) } }
        #expect(count(scratch.path) == files)
        for _ in 0..<200 { try writer(Scratch()).end() }
        // Other tests have theirs meanwhile.
        #expect(count("/proc/self/fd") < descriptors + 100)
    }

    @Test("with very many items that were given up goes on in a time that is in proportion", .timeLimit(.minutes(1)))
    func manyGivenUp() throws {
        let count = 100_000
        let job = BatchJob(name: "many", version: "1", count: count) { _, _ in [] }
        do {
            var all = EntryWriter()
            for index in 0..<count { all.append(index: index, kind: .quarantined, attempts: 1, bytes: [65]) }
            let identity = JournalIdentity(job: "many", version: "1", count: count, items: 0, shard: .whole)
            let writer = try writer(scratch, identity: identity)
            writer.append(all.take())
            try writer.end()
        }
        var options = BatchOptions()
        options.journal = scratch.path
        var seen = 0
        let report = try job.run(options) { index, result in
            if case .failure(BatchFailure(attempts: 1, description: "A")) = result, index == seen { seen += 1 }
        }
        #expect(seen == count && report.quarantined.count == count)
    }

    @Test("on a full disk says so")
    func fullDisk() throws {
        #expect {
            _ = try JournalWriter("/dev/full/journal", identity: Self.identity, wantsOutputs: false, slots: 1)
        } throws: { "\($0)".contains("/dev/full/journal: creation failed") }
        #expect {
            _ = try JournalWriter("/proc/journal", identity: Self.identity, wantsOutputs: false, slots: 1)
        } throws: { "\($0)".hasPrefix("/proc/journal: creation failed") }
    }
}

@Suite("Shards")
struct ShardTests {
    @Test("are read as I/N, with the index from the environment where none is written")
    func reading() throws {
        #expect(try Shard("3/16", environment: { _ in nil }).index == 3)
        #expect(try Shard(index: 3, of: 16) == Shard("3/16"))
        for (index, count) in [(16, 16), (-1, 16), (0, 0)] {
            #expect(throws: BatchError.self) { try Shard(index: index, of: count) }
        }
        #expect(try Shard("/16", environment: { $0 == "SLURM_ARRAY_TASK_ID" ? "7" : "3" }).index == 7)
        #expect(try Shard("/16", environment: { $0 == "HQ_TASK_ID" ? "2" : nil }).index == 2)
        #expect(
            try Shard("/16", environment: { $0 == "JOB_COMPLETION_INDEX" ? "0" : nil }).description == "0/16")
    }

    @Test("of an array that is not numbered from 0 are refused; some of one that is, submitted again, are not")
    func numbering() throws {
        func shard(_ text: String, id: Int, count: Int, min: Int, step: Int = 1) throws -> Shard {
            let values = ["ID": id, "COUNT": count, "MIN": min, "STEP": step]
            return try Shard(text) { name in
                name.hasPrefix("SLURM_ARRAY_TASK_") ? values[String(name.dropFirst(17))].map { "\($0)" } : nil
            }
        }
        #expect(try shard("/16", id: 3, count: 16, min: 0).index == 3)
        #expect(try shard("/16", id: 7, count: 2, min: 3).index == 7)
        #expect(try shard("/16", id: 7, count: 2, min: 3, step: 4).index == 7)
        #expect(try shard("/1", id: 0, count: 1, min: 0, step: 0).index == 0)
        #expect { _ = try shard("/1", id: 1, count: 1, min: 1) } throws: { "\($0)".hasSuffix("number it from 0 (--array=0-0)") }
        for (min, step) in [(1, 1), (0, 2), (5, 1)] {
            #expect {
                _ = try shard("/16", id: 7, count: 16, min: min, step: step)
            } throws: { "\($0)".hasSuffix("number it from 0 (--array=0-15)") }
        }
    }

    @Test(
        "that make no sense are one sentence",
        arguments: [
            "", "3", "/", "a/2", "1/b", "-1/2", "2/2", "3/2", "1/0", "1/2/3", "/4", "99999999999999999999/2",
            "+1/2",
        ])
    func nonsense(text: String) {
        #expect {
            _ = try Shard(text, environment: { _ in nil })
        } throws: {
            guard case BatchError.shard(let sentence) = $0 else { return false }
            return !sentence.isEmpty
        }
    }

    @Test("are refused if weights do not match the items", arguments: [[1, 1], [1, 1, 1, 1], [1, -1, 1], []])
    func weightsThatDoNotMatch(weights: [Int]) throws {
        let job = BatchJob(name: "parts", version: "1", count: 3) { _, _ in [] }
        for shard in [Shard.whole, try Shard("1/2")] {
            var options = BatchOptions()
            (options.shard, options.weights) = (shard, weights)
            let error = #expect(throws: BatchError.self) { _ = try job.run(options) }
            #expect(error?.description.contains("BatchOptions.weights") == true)
        }
    }

    @Test("hold each item once, of about the same work")
    func balance() throws {
        // Items that cost nothing belong to a shard, too.
        let job = BatchJob(name: "parts", version: "1", count: 3) { _, _ in [] }
        let parts = try (0..<2).map { try job.positions(of: try Shard("\($0)/2"), weights: [5, 0, 0]) }
        #expect(parts.flatMap { part in (0..<part.count).map { part[$0] } }.sorted() == [0, 1, 2])
        var generator = SystemRandomNumberGenerator()
        for count in [1, 2, 3, 7, 16] {
            for items in [0, 1, 5, 1000] {
                let weights = (0..<items).map { _ in Int.random(in: 0...1000, using: &generator) }
                var next = 0
                for index in 0..<count {
                    let range = try Shard("\(index)/\(count)").range(of: weights)
                    #expect(range.lowerBound == next)
                    next = range.upperBound
                    if items == 1000 {
                        let fair = weights.reduce(0, +) / count
                        #expect(abs(weights[range].reduce(0, +) - fair) <= 1000)
                    }
                }
                #expect(next == items)
                let names = (0..<items).map { Array("name \($0)".utf8) }
                let parts = try (0..<count).map { index in
                    let shard = try Shard("\(index)/\(count)")
                    return names.filter { shard.owns($0) }.count
                }
                #expect(parts.reduce(0, +) == items)
                if items == 1000 { #expect(parts.allSatisfy { abs($0 - 1000 / count) < 100 }) }
            }
        }
    }
}
