import Glibc

/// Writes one line at once, so that it is there whatever becomes of the process.
func note(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

func monotonicNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Runs `body` on a thread of its own.
func onThread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    pthread_create(&thread, nil, { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
    }, Unmanaged.passRetained(Box(body)).toOpaque())
    pthread_detach(thread)
}

/// Blocks for ever, as a thread does that reads from somebody who never writes.
func readForEver() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    var byte: UInt8 = 0
    _ = read(ends[0], &byte, 1)
}

/// SplitMix64.
struct Dice: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: Int) { state = UInt64(truncatingIfNeeded: seed) &* 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func upTo(_ most: Int) -> Int { Int.random(in: 0...most, using: &self) }
}
