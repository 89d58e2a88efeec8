import Dispatch
import OverdriveCore
import TestSupport
import Testing

@testable import Overdrive

@Suite("A line", .timeLimit(.minutes(10)))
struct FifoTests {
    @Test("is served in its order, whoever comes meanwhile, and keeps nobody who was served")
    func order() {
        let census = Census()
        var line = Fifo<(number: Int, tracked: Tracked)>()
        var (next, expected) = (0, 0)
        for round in 0..<300 {
            for _ in 0..<(round * 7 % 11) {
                line.append((next, census.newborn()))
                next += 1
            }
            for _ in 0..<(round * 5 % 9) {
                guard let served = line.popFirst() else { break }
                #expect(served.number == expected)
                expected += 1
            }
            #expect(line.isEmpty == (expected == next) && line.count == next - expected)
            #expect(line.first?.number == (expected < next ? expected : nil))
            #expect(census.alive == next - expected)
        }
        while let served = line.popFirst() {
            #expect(served.number == expected)
            expected += 1
        }
        #expect(expected == next && line.isEmpty && line.count == 0 && census.alive == 0)
    }

    /// Each that was served had all others move up, which took the longer the more there were.
    @Test("of updates may be long where handlers are slower than who speaks", arguments: [false, true])
    func longLine(handedOver: Bool) {
        let (emitters, gate, inOrder) = (Log<Task<Int>.Emitter>(), Gate(), Counter())
        let (last, count) = (Holder(0), 100_000)
        let source = Task<Int> { emit in
            emitters.note(emit)
            return {}
        }
        let task = handedOver ? source.switchTo(.serial()) : source
        task.onUpdate { update in
            if update == 1 { gate.pass() }
            if update == last.value + 1 { inOrder.add() }
            last.value = update
        }
        task.start()
        let (emit, speaks) = (emitters.all[0], DispatchGroup())
        DispatchQueue(label: "first").async(group: speaks) { emit(.update(1)) }
        #expect(eventually { gate.arrivals == 1 })
        for update in 2...count { emit(.update(update)) }
        gate.open()
        speaks.wait()
        emit(.completion)
        #expect(task.wait(timeout: .seconds(500)) == .success)
        #expect(inOrder.count == count && task.result?.value == count)
    }
}
