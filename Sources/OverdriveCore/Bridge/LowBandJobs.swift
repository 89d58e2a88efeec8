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
/// in a low band stands in a line where its priority can be asked for again, and the pool has a placeholder instead of it, which
/// takes the line's first. A worker that has ended a job of a higher band, which is where tasks begin to await, or comes to a
/// placeholder, looks through the lines now and then; whoever has been raised leaves for the pool, in his band of now, or for that
/// band's line.
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
            for place in places {
                if place + LowBandJobs.ahead < endOfPlaces { GlobalJobs.prefetchPriority(of: jobs[place + LowBandJobs.ahead - moved]) }
                let job = jobs[place - moved]
                guard job != 0, isWanted(job) else { continue }
                jobs[place - moved] = 0
                taken.append(job)
            }
            return taken
        }
    }

    /// A place in one of the lines, by their order.
    private struct Place: Comparable {
        var line = 0, number = 0

        static func < (a: Place, b: Place) -> Bool {
            (a.line, a.number) < (b.line, b.number)
        }
    }

    private struct Lines {
        var lines = Array(repeating: Line(), count: LowBandJobs.lowest + 1 - LowBandJobs.highest)
        /// Who is looked at next, and where a round began that is not over; whether it has come to the first again.
        private var next = Place(), start: Place?, hasTurned = false
        /// Whether it was begun because somebody may have begun to await.
        private(set) var isPrompted = false

        /// Begins a round where the last one stopped, or has the one that is under way go all around from here: who waits
        /// now is looked at before it is over.
        mutating func beginRound(isPrompted: Bool) {
            (start, hasTurned, self.isPrompted) = (next, false, isPrompted)
        }

        var isInRound: Bool { start != nil }

        /// Goes on with the round, by so many places at most, and takes those out that `isWanted` in their band.
        mutating func goOn(by count: Int, where isWanted: (UInt, _ band: Int) -> Bool) -> [UInt] {
            guard let start else { return [] }
            let line = next.line
            let first = max(next.number, lines[line].firstPlace)
            next.number = min(first + count, lines[line].endOfPlaces)
            let taken = lines[line].take(in: first..<next.number) { isWanted($0, line + LowBandJobs.highest) }
            if hasTurned, next >= start {
                self.start = nil
            } else if next.number == lines[line].endOfPlaces {
                next = Place(line: (line + 1) % lines.count)
                if next.line == 0 { hasTurned = true }
                if hasTurned, next >= start { self.start = nil }
            }
            return taken
        }
    }

    private let lines = Locked(Lines())
    /// How many wait: a hint, so that who ends a job need not ask behind the lock.
    private let waiting = Atomic(0)
    /// Whether a job of a higher band has ended since it was last asked: it may have begun to await somebody.
    private let isPrompted = Atomic(false)
    /// When it is to go on, prompted or not, and when it stopped. Written by who looks, before he is done.
    private let nextPrompted = Atomic<UInt64>(0), nextLook = Atomic<UInt64>(0), lastEnd = Atomic<UInt64>(0)
    private let isLooking = Atomic(false)

    private static let highest = Int(TaskQueue.QoS.utility.rawValue)
    private static let lowest = Int(TaskQueue.QoS.background.rawValue)
    /// Places looked at in one section.
    private static let stretch = 128
    /// So many places further on memory is asked for: tasks lie anywhere, and one after the other each would be waited for.
    private static let ahead = 16
    /// Between two rounds there are this long at least.
    private static let leastPause: UInt64 = 1_000_000
    /// So many times what looking takes there is between: it costs one worker a fifth of its time at most, and while jobs of
    /// higher bands end a third, or half where there were others at the beginning. A round is cut into parts for that, each as long as its share
    /// of the time since the last one, so that it goes on evenly and nobody is away for long.
    private static let pausePerLook: UInt64 = 4
    private let pausePerPromptedLook: UInt64

    init(workers: Int) {
        pausePerPromptedLook = workers > 1 ? 1 : 2
    }

    /// Empty ones in place of others, which a forked child does not touch.
    init(like others: LowBandJobs) {
        pausePerPromptedLook = others.pausePerPromptedLook
    }

    /// Whether a task of that quality of service waits in a line.
    static func holds(_ qos: TaskQueue.QoS) -> Bool {
        (highest...lowest).contains(Int(qos.rawValue))
    }

    func append(_ job: UInt, _ qos: TaskQueue.QoS) {
        lines.withLock { $0.lines[Int(qos.rawValue) - Self.highest].append(job) }
        waiting.add(1, ordering: .relaxed)  // Relaxed, here and below: a hint.
    }

    /// The first of a line; nil where the placeholder is that of one that left early.
    func takeFirst(_ qos: TaskQueue.QoS) -> UInt? {
        let job = lines.withLock { $0.lines[Int(qos.rawValue) - Self.highest].takeFirst() }
        if job != nil { waiting.subtract(1, ordering: .relaxed) }
        return job
    }

    /// Looks through the lines if that is due, and has those leave whose priority is higher by now.
    ///
    /// - Parameter isPrompted: A job of another band has ended.
    @inline(__always)
    func lookIfDue(isPrompted: Bool) {
        guard waiting.load(ordering: .relaxed) > 0 else { return }
        // Written once for all jobs until somebody looks: the others leave the cache's line where it is.
        if isPrompted, !self.isPrompted.load(ordering: .relaxed) { self.isPrompted.store(true, ordering: .relaxed) }
        // Relaxed: who looks goes on, or the next job's end does; the clock is not asked for nothing.
        guard !isLooking.load(ordering: .relaxed) else { return }
        look()
    }

    @inline(never)
    private func look() {
        let begin = Self.now
        guard begin >= due, !isLooking.exchange(true, ordering: .acquiring) else { return }
        // Acquiring and releasing: who has looked meanwhile has told when this is due.
        guard begin >= due else { return isLooking.store(false, ordering: .releasing) }
        let isPrompted = isPrompted.exchange(false, ordering: .relaxed)
        let isRoundPrompted = lines.withLock { lines in
            if isPrompted || !lines.isInRound { lines.beginRound(isPrompted: isPrompted) }
            return lines.isPrompted
        }
        let pause = isRoundPrompted ? pausePerPromptedLook : Self.pausePerLook
        let end = begin + (begin - lastEnd.load(ordering: .relaxed)) / pause
        let priority = GlobalJobs.priorityNow
        var now: UInt64, isOver: Bool
        repeat {
            // Who stands in a line has not run, so it is there to be asked as long as the lock is held.
            let (raised, isInRound) = lines.withLock { lines in
                let raised = lines.goOn(by: Self.stretch) { Int(GlobalJobs.qos(of: $0, priority).rawValue) < $1 }
                return (raised, lines.isInRound)
            }
            waiting.subtract(raised.count, ordering: .relaxed)
            // Their placeholders stay, and may find nothing.
            for job in raised { GlobalJobs.put(job, GlobalJobs.qos(of: job, priority)) }
            isOver = !isInRound
            now = Self.now
        } while !isOver && now < end
        let took = now - begin
        let least = isOver ? Self.leastPause : 0
        lastEnd.store(now, ordering: .relaxed)
        nextPrompted.store(now + max(least, pausePerPromptedLook * took), ordering: .relaxed)
        nextLook.store(now + max(least, (isOver ? Self.pausePerLook : pause) * took), ordering: .relaxed)
        isLooking.store(false, ordering: .releasing)
    }

    private var due: UInt64 {
        isPrompted.load(ordering: .relaxed) ? nextPrompted.load(ordering: .relaxed) : nextLook.load(ordering: .relaxed)
    }

    private static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
