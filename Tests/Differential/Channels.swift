import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Channels on pipes and files: bytes, ends, errors, barriers, limits, the cleanup handler.
///
/// How many calls bring the bytes is chance.
func channels(_ dice: inout Dice) -> [String] {
    let trace = Trace()
    let queues = (0..<3).map { DispatchQueue(label: "h\($0)", attributes: dice.chance(40) ? .concurrent : []) }
    let (done, received) = (DispatchGroup(), Bytes())
    let size = 1 + dice.below(30_000)
    let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) }
    var lines: [String] = []
    let isPipe = dice.chance(60)
    var ends: [Int32] = [-1, -1]
    let path = "/tmp/overdrive-differential-\(getpid())"
    if isPipe {
        guard pipe(&ends) == 0 else { return ["no pipe"] }
    } else {
        ends[1] = open(path, O_CREAT | O_TRUNC | O_RDWR, 0o600)
        ends[0] = open(path, O_RDONLY)
    }
    let (reads, writes) = (ends[0], ends[1])
    func channel(_ name: String, _ descriptor: Int32, _ queue: DispatchQueue) -> DispatchIO {
        done.enter()
        return DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { error in
            trace.run("\(name) cleanup \(error)")
            close(descriptor)
            done.leave()
        }
    }
    let (writer, written) = (channel("writer", writes, queues[0]), DispatchGroup())
    var place = 0
    while place < size {
        let count = min(size - place, 1 + dice.below(size))
        let (name, rest) = ("w\(place)", pause(&dice))
        written.enter()
        let data = sent[place..<(place + count)].withUnsafeBytes { DispatchData(bytes: $0) }
        writer.write(offset: 0, data: data, queue: queues[1]) { isDone, left, error in
            guard isDone else { return }
            trace.run("\(name) \(left?.count ?? 0) \(error)", rest)
            written.leave()
        }
        trace.mustFollow("\(name) 0 0", "writer cleanup 0")
        place += count
        if dice.chance(20) {
            let name = "barrier\(place)"
            written.enter()
            writer.barrier {
                trace.run(name)
                written.leave()
            }
        }
    }
    writer.close()
    if !isPipe { written.wait() }
    let (reader, rest) = (channel("reader", reads, queues[0]), pause(&dice))
    if dice.chance(50) { reader.setLimit(highWater: 100 + dice.below(5000)) }
    if dice.chance(30) { reader.setLimit(lowWater: 1 + dice.below(100)) }
    if dice.chance(20) { reader.setTarget(queue: queues[2]) }
    done.enter()
    reader.read(offset: 0, length: .max, queue: queues[2]) { isDone, data, error in
        if let data { received.add(data) }
        guard isDone else { return }
        trace.run("read \(error)", rest)
        done.leave()
    }
    trace.mustFollow("read 0", "reader cleanup 0")
    reader.close()
    lines.append("done \(done.wait(timeout: .now() + 10)) written \(written.wait(timeout: .now() + 10))")
    lines.append("bytes \(received.all == sent ? "right" : "WRONG \(received.all.count) of \(size)")")
    if !isPipe { unlink(path) }
    if dice.chance(30) {
        // A read that nothing ends but the stop.
        guard pipe(&ends) == 0 else { return ["no pipe"] }
        let stopped = channel("stopped", ends[0], queues[0])
        done.enter()
        stopped.read(offset: 0, length: .max, queue: queues[1]) { isDone, _, error in
            guard isDone else { return }
            trace.run("stopped read \(error)")
            done.leave()
        }
        stopped.close(flags: .stop)
        lines.append("stop \(done.wait(timeout: .now() + 10))")
        close(ends[1])
    }
    return trace.lines + lines
}

/// Bytes in the order in which they came.
final class Bytes: @unchecked Sendable {
    private let lock = NSLock()
    private var bytes: [UInt8] = []
    var all: [UInt8] { lock.withLock { bytes } }
    func add(_ data: DispatchData) { lock.withLock { bytes += data } }
}
