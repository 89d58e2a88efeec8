// Five million lines of a log: how many bytes each path was answered with.
import Dispatch
import OverdriveCore
import Synchronization

private let lines = 5_000_000

/// `/page/17 200 1234`, line by line.
private let log: [UInt8] = {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines * 20)
    for line in 0..<lines { bytes += "/page/\(line &* 7919 % 64) 200 \(line % 9973)\n".utf8 }
    return bytes
}()

/// The bytes of each of the 64 paths, of the lines that begin in `part`.
private func count(_ part: Range<Int>, into table: inout [Int]) {
    log.withUnsafeBufferPointer { log in
        var place = part.lowerBound
        if place > 0 { while place < log.count, log[place - 1] != 10 { place += 1 } }
        func number() -> Int {
            var number = 0
            while place < log.count, log[place] >= 48 { number = number * 10 + Int(log[place]) - 48; place += 1 }
            place += 1
            return number
        }
        while place < part.upperBound {
            place += 6
            let path = number()
            _ = number()
            table[path] += number()
        }
    }
}

private func answer(_ table: [Int]) -> Int { table.enumerated().reduce(0) { $0 + $1.offset * $1.element } }
private let empty = [Int](repeating: 0, count: 64)

func logs() -> Program {
    Program(name: "logs") {
        var table = empty
        count(0..<log.count, into: &table)
        return answer(table)
    } dispatch: {
        let parts = 64
        let tables = Mutex(empty)
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            var table = empty
            count(log.count * part / parts..<log.count * (part + 1) / parts, into: &table)
            tables.withLock { all in for path in table.indices { all[path] += table[path] } }
        }
        return answer(tables.withLock { $0 })
    } overdrive: {
        onOverdrive()
    }
}

private func onOverdrive() -> Int {
    let tables = WorkerLocal { empty }
    Parallel(grain: 64 << 10).forEachChunk(0..<log.count) { part in tables.with { count(part, into: &$0) } }
    return answer(tables.values.reduce(into: empty) { all, table in for path in all.indices { all[path] += table[path] } })
}
