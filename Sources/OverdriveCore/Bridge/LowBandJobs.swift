// Owns the waiting tasks of the low bands in the global executor. `GlobalJobs` calls it at each job. It raises tasks
// whose priority has risen, and never runs a job.

internal import CScheduler
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The waiting tasks of the low bands, in one wait queue per band, oldest first.
///
/// A new awaiter raises the priority of its task, but the Swift runtime does not tell the executor. So a task in a low
/// band waits in a queue here. The pool gets a placeholder, which later takes the oldest task of that band.
///
/// Workers scan the wait queues from time to time. A worker may scan after a job of a higher band, in which tasks may
/// have started to await others, and at each placeholder. A task whose priority has risen moves to the pool, or to
/// the wait queue of its new band.
final class LowBandJobs: Sendable {
    /// The wait queue of one band, with the addresses of the jobs. A job that was taken out of order leaves a gap, 0.
    private struct Line {
        private var jobs: [UInt] = []
        private var first = 0
        /// The number of entries removed at the front, so that a place keeps its number when the array shrinks.
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
                // Shortening moves at most as many entries as were taken before.
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

        /// Removes and returns the jobs in a range of places for which `isWanted` returns true.
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

    /// A place in the wait queues, ordered by queue and then by number.
    private struct Place: Comparable {
        var line = 0, number = 0

        static func < (a: Place, b: Place) -> Bool {
            (a.line, a.number) < (b.line, b.number)
        }
    }

    private struct Lines {
        var lines = Array(repeating: Line(), count: LowBandJobs.lowest + 1 - LowBandJobs.highest)
        /// The next place to scan; the start of the current round, or nil; whether the scan has wrapped around to the
        /// first queue.
        private var next = Place(), start: Place?, hasTurned = false
        /// Whether the current round started because a task may have started to await another.
        private(set) var isPrompted = false

        /// Starts a round at the place where the last scan stopped. A current round is extended to a full round from
        /// there, so that it covers all tasks that wait now.
        mutating func beginRound(isPrompted: Bool) {
            (start, hasTurned, self.isPrompted) = (next, false, isPrompted)
        }

        var isInRound: Bool { start != nil }

        /// Scans up to `count` more places, and removes and returns the jobs for which `isWanted` returns true.
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
    /// The number of waiting tasks: a hint, so that the end of a job needs no lock.
    private let waiting = Atomic(0)
    /// Whether a job of a higher band has ended since the last scan, and may have started to await a task.
    private let isPrompted = Atomic(false)
    /// The times of the next prompted scan, the next unprompted scan and the end of the last scan. Only the scanner
    /// writes.
    private let nextPrompted = Atomic<UInt64>(0), nextLook = Atomic<UInt64>(0), lastEnd = Atomic<UInt64>(0)
    private let isLooking = Atomic(false)

    private static let highest = Int(TaskQueue.QoS.utility.rawValue)
    private static let lowest = Int(TaskQueue.QoS.background.rawValue)
    /// The number of places scanned under one lock.
    private static let stretch = 128
    /// The prefetch distance in places. Tasks lie anywhere in memory, so each read would otherwise miss the cache.
    private static let ahead = 16
    /// The minimum pause between two rounds, in nanoseconds.
    private static let leastPause: UInt64 = 1_000_000
    /// The pause after a scan, as a multiple of its duration. Unprompted scans take at most 1/5 of one worker's time.
    /// Prompted scans take at most 1/2, or 1/3 with a single worker. A round is divided into scans, and each lasts a
    /// share of the time since the last one. So the round progresses evenly, and no worker is absent for long.
    private static let pausePerLook: UInt64 = 4
    private let pausePerPromptedLook: UInt64

    init(workers: Int) {
        pausePerPromptedLook = workers > 1 ? 1 : 2
    }

    /// Creates empty queues with the same settings, for a forked child. It does not touch the content of `others`.
    init(like others: LowBandJobs) {
        pausePerPromptedLook = others.pausePerPromptedLook
    }

    /// Whether a task of this quality of service waits in a queue here.
    static func holds(_ qos: TaskQueue.QoS) -> Bool {
        (highest...lowest).contains(Int(qos.rawValue))
    }

    func append(_ job: UInt, _ qos: TaskQueue.QoS) {
        lines.withLock { $0.lines[Int(qos.rawValue) - Self.highest].append(job) }
        waiting.add(1, ordering: .relaxed)  // Relaxed, here and below: a hint.
    }

    /// Takes the oldest job of a band. Returns nil for a placeholder whose job was raised.
    func takeFirst(_ qos: TaskQueue.QoS) -> UInt? {
        let job = lines.withLock { $0.lines[Int(qos.rawValue) - Self.highest].takeFirst() }
        if job != nil { waiting.subtract(1, ordering: .relaxed) }
        return job
    }

    /// Scans the wait queues if a scan is due, and moves the tasks whose priority has risen.
    ///
    /// - Parameter isPrompted: True after a job of another band.
    @inline(__always)
    func lookIfDue(isPrompted: Bool) {
        guard waiting.load(ordering: .relaxed) > 0 else { return }
        // Write the flag only once until the next scan, so that other workers keep the cache line shared.
        if isPrompted, !self.isPrompted.load(ordering: .relaxed) { self.isPrompted.store(true, ordering: .relaxed) }
        // Relaxed: if a scan is running, it continues, or the end of a later job scans. This check avoids reading the
        // clock.
        guard !isLooking.load(ordering: .relaxed) else { return }
        look()
    }

    @inline(never)
    private func look() {
        let begin = Self.now
        guard begin >= due, !isLooking.exchange(true, ordering: .acquiring) else { return }
        // Recheck after the acquire: an earlier scanner has stored the next due time before its release.
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
            // A queued task has not run, so its memory stays valid while the lock is held.
            let (raised, isInRound) = lines.withLock { lines in
                let raised = lines.goOn(by: Self.stretch) { Int(GlobalJobs.qos(of: $0, priority).rawValue) < $1 }
                return (raised, lines.isInRound)
            }
            waiting.subtract(raised.count, ordering: .relaxed)
            // The placeholders of raised tasks stay in the pool, and may find nothing.
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
