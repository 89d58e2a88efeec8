// histogram — counts bytes: each worker in a table of its own, which are added up at the end.
import OverdriveCore

let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
let tables = WorkerLocal { [Int](repeating: 0, count: 256) }
Parallel().forEachChunk(0..<bytes.count) { part in
    tables.with { table in for index in part { table[Int(bytes[index])] += 1 } }
}
let all = tables.values
var histogram = [Int](repeating: 0, count: 256)
Parallel().forEach(mutating: &histogram) { value, count in for table in all { count += table[value] } }
print("bytes \(histogram.reduce(0, +)), of value 0 \(histogram[0])")
