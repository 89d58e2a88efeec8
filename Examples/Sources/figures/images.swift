// A reader is faster than those who shrink what it reads: at most 16 pictures wait.
import Dispatch
import OverdriveCore
import Synchronization

private let (width, height, pictures, room) = (768, 512, 96, 16)

private func read(_ number: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: width * height) { bytes, count in
        for place in 0..<width * height { bytes[place] = UInt8(truncatingIfNeeded: place &* (number | 1)) }
        count = width * height
    }
}

/// A quarter as wide and as high, each point the mean of sixteen; then its sum.
private func shrunk(_ picture: [UInt8]) -> Int {
    var sum = 0
    picture.withUnsafeBufferPointer { picture in
        for y in stride(from: 0, to: height, by: 4) {
            for x in stride(from: 0, to: width, by: 4) {
                var point = 0
                for row in y..<y + 4 { for column in x..<x + 4 { point += Int(picture[row * width + column]) } }
                sum = (sum &* 31 &+ point / 16) % 1_000_003
            }
        }
    }
    return sum
}

func images() -> Program {
    Program(name: "images") {
        (0..<pictures).reduce(0) { $0 + shrunk(read($1)) }
    } dispatch: {
        onDispatch()
    } overdrive: {
        onOverdrive()
    }
}

private func onDispatch() -> Int {
    let (sum, group, places) = (Total(), DispatchGroup(), DispatchSemaphore(value: room))
    let queue = DispatchQueue(label: "images", attributes: .concurrent)
    for number in 0..<pictures {
        let picture = read(number)
        places.wait()
        queue.async(group: group) {
            places.signal()  // it waits no more: as the queue with a limit counts
            sum.add(shrunk(picture))
        }
    }
    group.wait()
    return sum.value
}

private func onOverdrive() -> Int {
    let sum = Total()
    let queue = TaskQueue(pendingLimit: room, policy: .wait, label: "images")
    for number in 0..<pictures {
        let picture = read(number)
        queue.async { sum.add(shrunk(picture)) }
    }
    queue.waitUntilAllTasksAreFinished()
    return sum.value
}

final class Total: Sendable {
    private let sum = Atomic(0)
    func add(_ number: Int) { sum.add(number, ordering: .relaxed) }
    var value: Int { sum.load(ordering: .acquiring) }
}
