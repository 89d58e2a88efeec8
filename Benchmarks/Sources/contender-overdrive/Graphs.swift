internal import BenchmarkKit
internal import CWorkloads
internal import OverdriveCore

/// Closures after closures, by counting: what one writes on queues that know no dependencies.
enum Graphs {
    static var entries: [Harness.Entry] { [("wavefront", wavefront)] }

    /// A square of cells, each after its upper and left neighbours.
    static func wavefront() {
        let (side, steps) = (Harness.value("side", 64), UInt64(Harness.value("steps", 100)))
        let queue = TaskQueue(scheduler: Queues.scheduler)
        let gate = Gate()
        let waiting = (0..<side * side).map { _ in AtomicCount() }
        let cells = SharedBuffer<UInt64>(side * side, 0)
        @Sendable func run(_ at: Int) {
            let up = at >= side ? cells[at - side] : 1
            let left = at % side > 0 ? cells[at - 1] : 1
            cells[at] = wl_spin(up &+ left, steps)
            if at == side * side - 1 { return gate.open() }
            if at % side + 1 < side && waiting[at + 1].takeOne() == 0 { queue.async { run(at + 1) } }
            if at + side < side * side && waiting[at + side].takeOne() == 0 { queue.async { run(at + side) } }
        }
        Harness.measure(prepare: {
            for at in waiting.indices { waiting[at].set((at % side > 0 ? 1 : 0) + (at >= side ? 1 : 0)) }
        }) {
            queue.async { run(0) }
            gate.pass()
            return cells[side * side - 1]
        }
    }
}
