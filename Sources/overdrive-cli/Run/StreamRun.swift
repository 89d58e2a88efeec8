#if CLI
internal import Glibc
internal import OverdriveBatch
internal import OverdriveCore
internal import Synchronization

/// Runs `overdrive run` on standard input without a journal. Commands start while input arrives, as after `tail -f
/// |`. The calling thread reads and prints. At most twice as many items as jobs are ahead of the printed ones.
final class StreamRun: Sendable {
    private struct State {
        var results: [Int: Result<Bytes, CommandFailureText>] = [:]
        var underWay = 0
    }

    /// The failure of an item, in words.
    struct CommandFailureText: Error {
        var sentence: String
        var tries: String
    }

    private let batch: CommandBatch
    private let worker: CommandWorker
    private let token: CancellationToken
    private let queue: TaskQueue
    private let state = Mutex(State())
    private let ended = CountingSemaphore(value: 0)

    init(_ batch: CommandBatch, _ worker: CommandWorker, _ token: CancellationToken, _ scheduler: Scheduler) {
        (self.batch, self.worker, self.token) = (batch, worker, token)
        queue = .concurrent(label: "run", scheduler: scheduler)
    }

    private var isEnding: Bool { token.isCancelled || StopSignals.received != nil }

    /// Runs a command for each item until the input or the run ends.
    ///
    /// - Parameters:
    ///   - next: A closure that returns the next item; `.waiting` if none came in time, `.end` at the end.
    ///   - told: A closure that receives each item's number from 0, name and result, in order.
    /// - Returns: The number of items whose results were passed on.
    func run(
        _ next: () throws(BatchRefusal) -> LineStream.Next, told: (Int, Bytes, Result<Bytes, CommandFailureText>) -> Void
    ) throws(BatchRefusal) -> Int {
        var names: [Int: Bytes] = [:]
        var (begun, printed) = (0, 0)
        var isAtEnd = false
        func tell() {
            while let result = state.withLock({ $0.results.removeValue(forKey: printed) }) {
                told(printed, names.removeValue(forKey: printed) ?? [], result)
                printed += 1
            }
        }
        var problem: BatchRefusal?
        while true {
            tell()
            if isEnding { break }
            if isAtEnd {
                if printed == begun { break }
                _ = ended.wait(timeout: .milliseconds(20))
            } else if begun - printed >= 2 * batch.jobs {
                _ = ended.wait(timeout: .milliseconds(20))
            } else {
                let found: LineStream.Next
                do throws(BatchRefusal) { found = try next() } catch {
                    problem = error
                    break
                }
                switch found {
                case .waiting: break
                case .end: isAtEnd = true
                case .line(let name):
                    names[begun] = name
                    begin(begun, name)
                    begun += 1
                }
            }
        }
        // Running commands are asked to end. The wait is as long as in a batch.
        if problem != nil { token.cancel() }
        let deadline = ContinuousClock.now + .seconds(10)
        while state.withLock({ $0.underWay }) > 0, .now < deadline { _ = ended.wait(timeout: .milliseconds(20)) }
        tell()
        // An interrupted item leaves a gap, but later items that have ended still count.
        let rest = state.withLock { state in
            defer { state.results = [:] }
            return state.results.sorted { $0.key < $1.key }
        }
        for (index, result) in rest { told(index, names.removeValue(forKey: index) ?? [], result) }
        if let problem { throw problem }
        return printed + rest.count
    }

    private func begin(_ index: Int, _ name: Bytes) {
        state.withLock { $0.underWay += 1 }
        queue.async { [self] in
            let result = attempt(index, name)
            state.withLock { state in
                state.underWay -= 1
                if let result { state.results[index] = result }
            }
            ended.signal()
        }
    }

    /// Returns the result of an item after its last attempt; nil if it does not count because the run must end.
    private func attempt(_ index: Int, _ name: Bytes) -> Result<Bytes, CommandFailureText>? {
        for number in 1...batch.attempts {
            do {
                return .success(try worker.perform(name, number: number, index: index) { isEnding })
            } catch {
                if isEnding, !(error is any BatchFault) { return nil }
                let tries = number > 1 ? " (\(number) attempts)" : ""
                if number == batch.attempts { return .failure(CommandFailureText(sentence: "\(error)", tries: tries)) }
            }
            let pause = min(60, 0.1 * Double(1 << min(number - 1, 10)))
            let due = Stamp.ticks + pause
            while Stamp.ticks < due, !isEnding { usleep(10_000) }
        }
        return nil
    }
}

/// Reads standard input item by item.
final class LineStream {
    enum Next {
        case line(Bytes)
        /// No input arrived for a while.
        case waiting
        case end
    }

    private let descriptor: Int32
    private let end: UInt8
    /// The item that ends the input.
    private let last: Bytes?
    private var text = Bytes()
    /// The offset in `text` of the next line, and the offset up to which no line feed was found.
    private var (start, seen) = (0, 0)
    private var isAtEnd = false

    init(_ descriptor: Int32, end: UInt8, last: Bytes?) {
        (self.descriptor, self.end, self.last) = (descriptor, end, last)
    }

    func next() throws(BatchRefusal) -> Next {
        while true {
            if let place = text[seen...].firstIndex(of: end) { return try item(upTo: place) }
            seen = text.count
            if isAtEnd { return start < text.count ? try item(upTo: text.count) : .end }
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 20) > 0 else { return .waiting }
            text.removeFirst(start)
            (start, seen) = (0, text.count)
            var count = 0
            let piece = Bytes(unsafeUninitializedCapacity: 1 << 16) { place, used in
                count = read(descriptor, place.baseAddress, place.count)
                used = max(0, count)
            }
            if count < 0, errno != EINTR, errno != EAGAIN { throw .system("the items", "reading", .noInput) }
            isAtEnd = count == 0
            text += piece
        }
    }

    private func item(upTo place: Int) throws(BatchRefusal) -> Next {
        let name = try line(upTo: place)
        return name == last ? .end : .line(name)
    }

    private func line(upTo place: Int) throws(BatchRefusal) -> Bytes {
        let line = Bytes(text[start..<place])
        start = min(place + 1, text.count)
        seen = start
        guard end == 0 || !line.contains(0) else {
            throw BatchRefusal(
                .usage, "an item contains a zero byte, which a word of a command cannot: if items end with zero bytes, write -0")
        }
        return line
    }
}
#endif
