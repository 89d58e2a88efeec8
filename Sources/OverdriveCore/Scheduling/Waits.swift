// Owns the search for deadlocks and wait chains in a dump. `Scheduler.dump()` calls it. It never reads live workers.

/// The wait relation between the workers of a dump.
struct Waits {
    private let workers: [Int: Scheduler.Dump.Worker]
    /// For each waiting worker, one worker that holds the awaited queue.
    private let next: [Int: Int]
    /// Circles of workers that cannot continue, if all of their waits exist at one moment.
    let circles: [[Int]]

    init(of workers: [Scheduler.Dump.Worker], at queues: [Scheduler.Dump.Queue]) {
        self.workers = Dictionary(uniqueKeysWithValues: workers.map { ($0.index, $0) })
        let holders = Dictionary(
            uniqueKeysWithValues: workers.lazy.map { ($0.index, $0.holders(among: workers).map(\.index)) }.filter { !$0.1.isEmpty })
        next = holders.compactMapValues(\.first)
        let queues = Dictionary(queues.map { ($0.id, $0) }) { first, _ in first }
        // Start with all workers that wait for a full queue whose closures all run on workers. Then remove each worker
        // with a holder that can continue.
        var stuck = Set(
            workers.filter { worker in
                guard let queue = queues[worker.waitsAtID], let holders = holders[worker.index] else { return false }
                guard !queue.isSuspended, queue.running == holders.count else { return false }
                // Other slots of a limited queue may belong to a `sync` caller, or to a task that has returned; these
                // can continue.
                return queue.maxConcurrentTaskCount == TaskQueue.unlimited || holders.count >= queue.maxConcurrentTaskCount
            }.map(\.index))
        while let free = stuck.first(where: { holders[$0]?.allSatisfy(stuck.contains) != true }) { stuck.remove(free) }
        var (circles, seen): ([[Int]], Set<Int>) = ([], [])
        for index in stuck.sorted() where !seen.contains(index) {
            var (path, at) = ([Int](), index)
            while seen.insert(at).inserted, let following = next[at] {
                path.append(at)
                at = following
            }
            // A worker whose path leads to a known circle, but which is not in the circle, is not reported.
            if let start = path.firstIndex(of: at) { circles.append(Array(path[start...])) }
        }
        self.circles = circles
    }

    /// Returns the circles whose waits still exist in a later read.
    func circles(lastingIn later: [Scheduler.Dump.Worker]) -> [[Int]] {
        let later = Dictionary(uniqueKeysWithValues: later.map { ($0.index, $0) })
        return circles.filter { $0.allSatisfy { index in workers[index].map { later[index]?.isSameWait(as: $0) ?? false } ?? false } }
    }

    /// Chains of at least three workers. No worker waits for the first one, and the last one waits for no worker.
    var chains: [[Int]] {
        let waitedFor = Set(next.values)
        return next.keys.filter { !waitedFor.contains($0) }.sorted().compactMap { first in
            var chain = [first]
            while let following = next[chain[chain.count - 1]] {
                if chain.contains(following) { return nil }  // the chain leads to a circle
                chain.append(following)
            }
            return chain.count > 2 ? chain : nil
        }
    }
}

extension Scheduler.Dump.Worker {
    /// The workers that run closures of the queue for which this one waits.
    func holders(among others: [Self]) -> [Self] {
        waitsAtID == 0 ? [] : others.filter { $0.index != index && $0.queueID == waitsAtID }
    }

    /// Returns whether this is a later read of the same wait.
    fileprivate func isSameWait(as before: Self) -> Bool {
        guard case .blocks(_, let time) = activity, case .blocks(_, let timeBefore) = before.activity else { return false }
        return time >= timeBefore && executed == before.executed && queueID == before.queueID && waitsAtID == before.waitsAtID
    }
}
