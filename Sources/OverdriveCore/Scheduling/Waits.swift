/// Who waits for whom, of a dump's workers.
struct Waits {
    private let workers: [Int: Scheduler.Dump.Worker]
    /// Whom each one that waits for a queue waits for: one of those who hold it.
    private let next: [Int: Int]
    /// Circles of workers none of which can go on, if all waited at one moment.
    let circles: [[Int]]

    init(of workers: [Scheduler.Dump.Worker], at queues: [Scheduler.Dump.Queue]) {
        self.workers = Dictionary(uniqueKeysWithValues: workers.map { ($0.index, $0) })
        let holders = Dictionary(
            uniqueKeysWithValues: workers.lazy.map { ($0.index, $0.holders(among: workers).map(\.index)) }.filter { !$0.1.isEmpty })
        next = holders.compactMapValues(\.first)
        let queues = Dictionary(queues.map { ($0.id, $0) }) { first, _ in first }
        // Those remain none of which goes on before another one of them does.
        var stuck = Set(
            workers.filter { worker in
                guard let queue = queues[worker.waitsAtID], let holders = holders[worker.index] else { return false }
                guard !queue.isSuspended, queue.running == holders.count else { return false }
                // Other places of a limited queue may be a caller's in sync, or a task's that has returned: those go on.
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
            // Who has come to a circle that was found before, or waits for one, is not in it.
            if let start = path.firstIndex(of: at) { circles.append(Array(path[start...])) }
        }
        self.circles = circles
    }

    /// The circles all of whose waits go on in a later look.
    func circles(lastingIn later: [Scheduler.Dump.Worker]) -> [[Int]] {
        let later = Dictionary(uniqueKeysWithValues: later.map { ($0.index, $0) })
        return circles.filter { $0.allSatisfy { index in workers[index].map { later[index]?.isSameWait(as: $0) ?? false } ?? false } }
    }

    /// Chains of three or more that begin with one for whom nobody waits, and end with one that waits for nobody.
    var chains: [[Int]] {
        let waitedFor = Set(next.values)
        return next.keys.filter { !waitedFor.contains($0) }.sorted().compactMap { first in
            var chain = [first]
            while let following = next[chain[chain.count - 1]] {
                if chain.contains(following) { return nil }  // it comes to a circle
                chain.append(following)
            }
            return chain.count > 2 ? chain : nil
        }
    }
}

extension Scheduler.Dump.Worker {
    /// The workers that run closures of the queue that this one waits at.
    func holders(among others: [Self]) -> [Self] {
        waitsAtID == 0 ? [] : others.filter { $0.index != index && $0.queueID == waitsAtID }
    }

    /// Whether this is a later look at a worker that waits still.
    fileprivate func isSameWait(as before: Self) -> Bool {
        guard case .blocks(_, let time) = activity, case .blocks(_, let timeBefore) = before.activity else { return false }
        return time >= timeBefore && executed == before.executed && queueID == before.queueID && waitsAtID == before.waitsAtID
    }
}
