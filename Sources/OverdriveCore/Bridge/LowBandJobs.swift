internal import CScheduler
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The tasks of the low bands that wait in the process's pool, oldest first.
///
/// Who begins to await a task raises its priority, and Swift's runtime tells no executor of that. So a task that waits
/// in a low band stands in a line where its priority can be asked for again, and the pool has a turn instead of it, which
/// takes the line's first. A worker that has ended a job of a higher band, which is where tasks begin to await, or comes to a
/// turn, looks through the lines now and then; whoever has been raised leaves for the pool, in his band of now.
final class LowBandJobs: Sendable {
    /// A band's line, of the jobs' addresses. What has left it early has left a gap, 0.
    private struct Line {
        private var jobs: [UInt] = []
        private var first = 0
        /// How many have left the array in front, so that a place keeps its number while the line moves.
        private var moved = 0

        var firstPlace: Int { moved + first }
        var endOfPlaces: Int { moved + jobs.count }

        mutating func append(_ job: UInt) {
            jobs.append(job)
        }

        mutating func takeFirst() -> UInt? {
            while first < jobs.count {
                let job = jobs[first]
                first += 1
                guard job != 0 else { continue }
                // As many moves as there were jobs taken, at most.
                if first >= 1_024, first * 2 >= jobs.count { shorten() }
                return job
            }
            shorten()
            return nil
        }

        private mutating func shorten() {
            moved += first
            if first == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity <= 4_096)
            } else {
                jobs.removeFirst(first)
            }
            first = 0
        }

        /// Takes those out that `isWanted`, between two places.
        mutating func take(
            in places: Range<Int>, where isWanted: (UInt) -> Bool
        ) -> [UInt] {
            var taken: [UInt] = []
            for place in places.clamped(to: firstPlace..<endOfPlaces) {
                let job = jobs[place - moved]
                guard job != 0, isWanted(job) else { continue }
                jobs[place - moved] = 0
                taken.append(job)
            }
            return taken
        }
    }

    private let lines = Locked<[Line]>(Array(repeating: Line(), count: LowBandJobs.lowest + 1 - LowBandJobs.highest))
    /// How many wait: a hint, so that who ends a job need not ask behind the lock.
    private let waiting = Atomic(0)
    /// Whether a job of a higher band has ended since the last look began: it may have begun to await somebody.
    private let isPrompted = Atomic(false)
    /// When the next look is due, prompted or not. Written by who looks, before he is done.
    private let nextPrompted = Atomic<UInt64>(0), nextLook = Atomic<UInt64>(0)
    private let isLooking = Atomic(false)

    private static let highest = Int(TaskQueue.QoS.utility.rawValue)
    private static let lowest = Int(TaskQueue.QoS.background.rawValue)
    /// Places looked at in one section.
    private static let stretch = 512
    /// Between two looks there are this long at least, and this many times what the first one took: where lines are long, looking
    /// costs a worker a third of its time at most while jobs of higher bands end, and else a fifth.
    private static let leastPause: UInt64 = 1_000_000
    private static let pausePerPromptedLook: UInt64 = 2, pausePerLook: UInt64 = 4

    /// Whether a task of that quality of service waits in a line.
    static func holds(_ qos: TaskQueue.QoS) -> Bool {
        (highest...lowest).contains(Int(qos.rawValue))
    }

    func append(_ job: UInt, _ qos: TaskQueue.QoS) {
        lines.withLock { $0[Int(qos.rawValue) - Self.highest].append(job) }
        waiting.add(1, ordering: .relaxed)  // Relaxed, here and below: a hint.
    }

    /// The first of a line; nil where its turn is one of those that left early.
    func takeFirst(_ qos: TaskQueue.QoS) -> UInt? {
        let job = lines.withLock { $0[Int(qos.rawValue) - Self.highest].takeFirst() }
        if job != nil { waiting.subtract(1, ordering: .relaxed) }
        return job
    }

    /// Looks through the lines if that is due, and has those leave whose priority is higher by now.
    ///
    /// - Parameter isPrompted: A job of another band has ended.
    @inline(__always)
    func lookIfDue(isPrompted: Bool) {
        guard waiting.load(ordering: .relaxed) > 0 else { return }
        if isPrompted { self.isPrompted.store(true, ordering: .relaxed) }
        look()
    }

    private var due: UInt64 {
        isPrompted.load(ordering: .relaxed) ? nextPrompted.load(ordering: .relaxed) : nextLook.load(ordering: .relaxed)
    }

    @inline(never)
    private func look() {
        let begin = Self.now
        guard begin >= due, !isLooking.exchange(true, ordering: .acquiring) else { return }
        // Acquiring and releasing: a look that has ended meanwhile has told when this one is due.
        guard begin >= due else { return isLooking.store(false, ordering: .releasing) }
        isPrompted.store(false, ordering: .relaxed)
        let priority = GlobalJobs.priorityNow
        for number in 0...(Self.lowest - Self.highest) {
            var place = 0
            // Who comes while this goes on is looked at the next time.
            let end = lines.withLock { $0[number].endOfPlaces }
            while place < end {
                let raised = lines.withLock { lines in
                    place = max(place, lines[number].firstPlace)
                    let stretch = place..<max(place, min(place + Self.stretch, end))
                    place += Self.stretch
                    // Who stands in a line has not run, so it is there to be asked as long as the lock is held.
                    return lines[number].take(in: stretch) { job in
                        Int(GlobalJobs.qos(of: job, priority).rawValue) < number + Self.highest
                    }
                }
                waiting.subtract(raised.count, ordering: .relaxed)
                for job in raised { GlobalJobs.submit(job, GlobalJobs.qos(of: job, priority)) }
            }
        }
        let now = Self.now
        let took = now - begin
        nextPrompted.store(now + max(Self.leastPause, Self.pausePerPromptedLook * took), ordering: .relaxed)
        nextLook.store(now + max(Self.leastPause, Self.pausePerLook * took), ordering: .relaxed)
        isLooking.store(false, ordering: .releasing)
    }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
