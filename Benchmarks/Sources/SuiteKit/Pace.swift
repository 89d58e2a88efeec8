internal import BenchmarkKit
internal import CWorkloads
internal import Glibc

/// How fast the machine is at the moment: what a fixed piece of arithmetic takes on each CPU at once, in nanoseconds. A
/// virtual machine's neighbours, and the other half of a core, slow it down without being seen in any load.
enum Pace {
    static func measure() -> Double {
        let cpus = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let (next, sum) = (AtomicCount(), AtomicCount())
        JoinableThread.each(of: cpus) {
            let cpu = next.addAndCount() - 1
            if cpus > 1 { wl_keep_to_cpu(Int32(cpu)) }
            sum.add(once())
        }
        return Double(sum.value) / Double(cpus)
    }

    /// The best of a few: who is preempted once is not slower for it.
    private static func once() -> Int {
        let blocks = SharedBuffer(3 * 32 * 32, 1.0)
        defer { blocks.free() }
        var best = Int.max
        for _ in 0..<5 {
            let start = Harness.now
            for _ in 0..<10 { wl_matmul_leaf(blocks.base, blocks.base + 1024, blocks.base + 2048, 32) }
            best = min(best, Harness.now - start)
            wl_nothing(UInt64(blocks[2048]))
        }
        return best
    }
}
