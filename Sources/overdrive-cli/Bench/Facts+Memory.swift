internal import Glibc
internal import OverdriveCore

extension Fact {
    /// The memory of pending closures, and whether it is released. The closures stay pending, because the only worker
    /// is busy and must not be replaced.
    static func memory() throws(SchedulerError) -> [Fact] {
        var facts: [Fact] = []
        for count in [1_000_000, 1_200_000] {
            let outside = try pendingFromOutside(count)
            let inside = try pendingFromInside(count)
            let millions = Decimals.short(Double(count) / 1e6)
            facts.append(Fact(name: "pending from outside, \(millions) M", value: outside.each, unit: "bytes", bar: 24))
            facts.append(Fact(name: "pending from inside, \(millions) M", value: inside.each, unit: "bytes", bar: 40))
            facts.append(
                Fact(
                    name: "left after \(millions) M ran", value: max(outside.left, inside.left) / 1_048_576,
                    unit: "MiB", bar: 8))
        }
        return facts
    }

    private static func pendingFromOutside(_ count: Int) throws(SchedulerError) -> (each: Double, left: Double) {
        let scheduler = try Scheduler(workers: 1, spareWorkers: 0)
        let queue = TaskQueue(scheduler: scheduler)
        let (busy, go) = (WaitGroup(), WaitGroup())
        busy.enter()
        go.enter()
        queue.async {
            busy.leave()
            go.wait()
        }
        busy.wait()
        let before = residentBytes
        for _ in 0..<count { queue.async {} }
        let pending = residentBytes
        go.leave()
        queue.waitUntilAllTasksAreFinished()
        return ((pending - before) / Double(count), leftOver(since: before))
    }

    private static func pendingFromInside(_ count: Int) throws(SchedulerError) -> (each: Double, left: Double) {
        let scheduler = try Scheduler(workers: 1, spareWorkers: 0)
        let queue = TaskQueue(scheduler: scheduler)
        queue.sync {}
        nonisolated(unsafe) var (before, pending) = (0.0, 0.0)
        let done = WaitGroup()
        queue.async(group: done) {
            before = residentBytes
            for _ in 0..<count { queue.async {} }
            pending = residentBytes
        }
        done.wait()
        queue.waitUntilAllTasksAreFinished()
        return ((pending - before) / Double(count), leftOver(since: before))
    }

    /// Returns the remaining memory. It is released shortly after the workers are idle.
    private static func leftOver(since before: Double) -> Double {
        Stopwatch.sleep(nanoseconds: 300_000_000)
        return max(0, residentBytes - before)
    }

    private static var residentBytes: Double {
        var pages = 0
        guard let file = fopen("/proc/self/statm", "r") else { return .nan }
        defer { fclose(file) }
        withUnsafeMutablePointer(to: &pages) { pages in
            _ = withVaList([pages]) { vfscanf(file, "%*d %ld", $0) }
        }
        return Double(pages * sysconf(Int32(_SC_PAGESIZE)))
    }
}
