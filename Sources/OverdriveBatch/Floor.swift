// Owns the processing of items: the pumps, their slots and the retries. `BatchRun` starts pumps and collects their
// results. It never writes the journal.

internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// The state that the workers of a run share.
///
/// A pump is a closure that processes items one after another and owns a slot. It takes items in chunks, which grow
/// while items are short. After some milliseconds it returns its worker to other jobs.
final class Floor: Sendable {
    /// The approximate duration of a chunk in nanoseconds.
    private static let chunkTime: UInt64 = 1_000_000
    private static let mostInChunk = 1024
    /// The time after which a pump lets other jobs run, in nanoseconds.
    private static let timeSlice: UInt64 = 10_000_000
    /// The number of bytes that a slot may hold before its pump waits for the journal.
    static let mostHeld = 4 << 20
    /// The number of bytes of an error's text that are kept.
    private static let mostError = 1 << 16

    /// The results of a pump since the last collection.
    struct Tally {
        var entries = EntryWriter()
        /// Entries that are in separate records, because they would not fit into one record with the later entries.
        var records: [[UInt8]] = []
        var results: [(place: Int, result: Result<[UInt8], BatchFailure>)] = []
        var done = 0
        var quarantined: [(place: Int, failure: BatchFailure)] = []
        /// The places whose output came after the time limit.
        var late: [Int] = []
        var retries = 0
        var busy: UInt64 = 0
        var heldBytes = 0
        var times = Histogram()
        var slowest: [(nanoseconds: UInt64, place: Int)] = []
    }

    typealias AsyncBody = _Concurrency.Task<[UInt8], any Error>

    final class Slot: Sendable {
        let number: Int
        let tally = Locked(Tally())
        /// The number of items in a chunk. Only the slot's pump writes it.
        let chunk = Atomic<Int>(1)
        /// The places that the pump has taken and not begun. The first place and their number are in one word, so
        /// that either the pump or the coordinator has each place.
        private let rest = Atomic<UInt64>(0)
        /// The Swift task of an asynchronous item.
        private let body = Locked<(task: AsyncBody, deadline: ContinuousClock.Instant?)?>(nil)
        private static let countBits: UInt64 = 12
        private static let countMask: UInt64 = 0xfff

        init(_ number: Int) { self.number = number }

        /// Gives the pump `places`, at most 4095, after it has begun all earlier ones.
        func give(_ places: Range<Int>) {
            // Relaxed, here and below: the word only assigns places and publishes no data.
            rest.store(UInt64(places.lowerBound) << Self.countBits | UInt64(places.count), ordering: .relaxed)
        }

        /// Takes the next place; nil if there is none.
        func takePlace() -> Int? {
            var word = rest.load(ordering: .relaxed)
            while word & Self.countMask != 0 {
                // The first place and the number change together: one place more, one item less.
                let next = word + (1 << Self.countBits) - 1
                let (isOurs, seen) = rest.weakCompareExchange(expected: word, desired: next, ordering: .relaxed)
                if isOurs { return Int(word >> Self.countBits) }
                word = seen
            }
            return nil
        }

        /// The places that the pump has not begun.
        var held: Range<Int> { Self.places(rest.load(ordering: .relaxed)) }

        /// Takes all places that the pump has not begun.
        func takeRest() -> Range<Int> { Self.places(rest.exchange(0, ordering: .relaxed)) }

        /// Waits for the result of `task`, which `cancelBody` may cancel meanwhile.
        func result(of task: AsyncBody, deadline: ContinuousClock.Instant?, isEnding: () -> Bool) async -> Result<[UInt8], any Error> {
            body.withLock { $0 = (task, deadline) }
            // Either this check sees the request to end, or the request finds the task.
            if isEnding() { task.cancel() }
            let result = await task.result
            body.withLock { $0 = nil }
            return result
        }

        /// Cancels the task of an asynchronous item.
        func cancelBody() { body.withLock { $0 }?.task.cancel() }

        /// Cancels the task of an asynchronous item whose deadline has passed.
        func cancelLateBody() {
            guard let body = body.withLock({ $0 }), body.deadline.map({ $0 <= .now }) ?? false else { return }
            body.task.cancel()
        }

        private static func places(_ word: UInt64) -> Range<Int> {
            let start = Int(word >> countBits)
            return start..<start + Int(word & countMask)
        }
    }

    struct Retry {
        var due: ContinuousClock.Instant
        var place: Int
        var failures: Int
    }

    /// Retries as a binary heap: the one that is due first is at the front.
    private struct Retries {
        private var heap: [Retry] = []

        var first: ContinuousClock.Instant? { heap.first?.due }

        /// The number of retries that are due at `now`, at most `most`.
        func count(dueAt now: ContinuousClock.Instant, most: Int) -> Int {
            var due = 0
            var places = [0]
            while let place = places.popLast(), due < most {
                guard place < heap.count, heap[place].due <= now else { continue }
                due += 1
                places += [2 * place + 1, 2 * place + 2]
            }
            return due
        }

        mutating func insert(_ retry: Retry) {
            heap.append(retry)
            var place = heap.count - 1
            while place > 0, heap[(place - 1) / 2].due > heap[place].due {
                heap.swapAt(place, (place - 1) / 2)
                place = (place - 1) / 2
            }
        }

        mutating func removeFirst() -> Retry {
            heap.swapAt(0, heap.count - 1)
            let first = heap.removeLast()
            var place = 0
            while true {
                var next = 2 * place + 1
                if next + 1 < heap.count, heap[next + 1].due < heap[next].due { next += 1 }
                guard next < heap.count, heap[next].due < heap[place].due else { return first }
                heap.swapAt(place, next)
                place = next
            }
        }
    }

    private struct State {
        var free: [Slot]
        /// Slots whose results must be collected before further use.
        var full: [Slot] = []
        var active = 0
        var retries = Retries()
        /// Places that were taken back from pumps with long items.
        var returned: [Range<Int>] = []
    }

    let slots: [Slot]
    /// The token that is cancelled when the run must end.
    let token = CancellationToken()
    /// The semaphore that a pump signals when it ends.
    let wake = CountingSemaphore(value: 0)
    private let job: BatchJob
    private let positions: BatchJob.Positions
    private let skipped: Bitmap
    let flight: Flight
    private let keepsEntries: Bool
    private let options: BatchOptions
    private let keepsOutputs: Bool
    /// The largest output that fits into a record of the journal.
    private let mostOutput: Int
    private let next = Atomic<Int>(0)
    private let end = Atomic<Int>(0)
    private let waiting = Atomic<Int>(0)
    /// The number of ranges in the state's `returned`.
    private let returnedCount = Atomic<Int>(0)
    private let state: Locked<State>
    private let queue: TaskQueue

    /// - Parameters:
    ///   - skipped: The indices of items that must not run.
    ///   - flight: The record of items under way.
    ///   - keepsEntries: Whether there is a journal.
    ///   - keepsOutputs: Whether the caller wants the outputs.
    ///   - mostOutput: The largest output of a record; smaller in tests.
    init(
        _ job: BatchJob, _ positions: BatchJob.Positions, skipped: Bitmap, flight: Flight, keepsEntries: Bool,
        parallelism: Int,
        options: BatchOptions, keepsOutputs: Bool, mostOutput: Int
    ) {
        (self.job, self.positions, self.skipped, self.flight) = (job, positions, skipped, flight)
        (self.options, self.keepsEntries, self.keepsOutputs) = (options, keepsEntries, keepsOutputs)
        self.mostOutput = mostOutput
        slots = (0..<parallelism).map { Slot($0) }
        state = Locked(State(free: slots.reversed()))
        queue = .concurrent(label: "batch", scheduler: options.scheduler)
        _ = token.onCancel { [weak self] in self?.cancelBodies() }
    }

    // MARK: For the coordinator

    /// The first place that no pump has taken.
    var taken: Int { next.load(ordering: .relaxed) }

    /// Lets pumps take the places before `end`.
    func open(to end: Int) { self.end.store(end, ordering: .relaxed) }

    /// Whether the remaining places may not be taken yet.
    func isStarved(of total: Int) -> Bool {
        let taken = taken
        return taken < total && taken >= end.load(ordering: .relaxed)
    }

    /// Whether a slot waits for the collection of its results.
    var hasFullSlots: Bool { state.withLock { !$0.full.isEmpty } }

    /// Makes the full slots free again, after all results have been collected.
    func release() {
        state.withLock { state in
            state.free += state.full
            state.full = []
        }
    }

    /// Whether the run must end. The coordinator cancels `token` slightly after a signal.
    private var isEnding: Bool {
        token.isCancelled || options.token?.isCancelled ?? false
            || options.endsOnSignals && StopSignals.received != nil
    }

    var activeCount: Int { state.withLock { $0.active } }
    var hasRetries: Bool { waiting.load(ordering: .relaxed) > 0 || returnedCount.load(ordering: .relaxed) > 0 }

    /// The time of the next retry.
    var nextRetry: ContinuousClock.Instant? { state.withLock { $0.retries.first } }

    /// Adds a retry, which comes before all places that no pump has taken.
    func add(_ retry: Retry) {
        state.withLock { $0.retries.insert(retry) }
        waiting.add(1, ordering: .relaxed)
    }

    /// Takes back the places of each pump that has begun none since the last call. Other pumps run them.
    ///
    /// - Parameter seen: The places that each slot held at the last call.
    func returnHeldPlaces(_ seen: inout [Range<Int>]) {
        for slot in slots {
            let now = slot.held
            if !now.isEmpty, now == seen[slot.number] {
                let rest = slot.takeRest()
                if !rest.isEmpty {
                    state.withLock { $0.returned.append(rest) }
                    returnedCount.add(1, ordering: .relaxed)
                }
            }
            seen[slot.number] = now
        }
    }

    /// Cancels the Swift tasks of all asynchronous items.
    private func cancelBodies() {
        guard case .suspending = job.process else { return }
        for slot in slots { slot.cancelBody() }
    }

    /// Cancels the asynchronous items whose deadlines have passed.
    func cancelLateBodies() {
        guard case .suspending = job.process else { return }
        for slot in slots { slot.cancelLateBody() }
    }

    /// Starts a pump for each piece of available work, up to `most` pumps in total.
    func startPumps(most: Int) {
        guard !isEnding else { return }
        let now = ContinuousClock.now
        let started = state.withLock { state -> [Slot] in
            let room = min(most - state.active, state.free.count)
            guard room > 0 else { return [] }
            // A pump for each item, no more: one retry needs one of a thousand pumps.
            var work = max(0, end.load(ordering: .relaxed) - next.load(ordering: .relaxed))
            for places in state.returned where work < room { work += places.count }
            if work < room { work += state.retries.count(dueAt: now, most: room - work) }
            let started = min(work, room)
            defer { state.free.removeLast(started) }
            state.active += started
            return state.free.suffix(started).reversed()
        }
        for slot in started {
            switch job.process {
            case .blocking(let process): queue.async { self.pump(slot, process) }
            case .suspending(let process):
                _Concurrency.Task(executorPreference: options.scheduler) { await self.pump(slot, process) }
            }
        }
    }

    // MARK: A pump

    private func pump(_ slot: Slot, _ process: @escaping BatchJob.Blocking) {
        flight.enter(slot.number)
        let began = clock()
        var last = began
        var isFull = false
        while !isEnding {
            if let retry = takeRetry() {
                attempt(process, retry.place, failures: retry.failures, in: slot, since: &last)
            } else if let chunk = take(slot.chunk.load(ordering: .relaxed)) {
                let start = last
                slot.give(chunk)
                var count = 0
                while !isEnding, let place = slot.takePlace() {
                    count += 1
                    if skipped.contains(positions[place]) { continue }
                    attempt(process, place, failures: 0, in: slot, since: &last)
                }
                if count > 0 { adapt(slot, toTime: last &- start, of: count) }
            } else {
                break
            }
            isFull = self.isFull(slot)
            if isFull { break }
            if last &- began > Self.timeSlice {
                flight.end(slot: slot.number)
                queue.async { self.pump(slot, process) }
                return
            }
        }
        leave(slot, isFull: isFull)
    }

    /// Processes asynchronous items one after another. Their threads change, so no thread is recorded, and a crash
    /// counts as a kill.
    private func pump(_ slot: Slot, _ process: @escaping BatchJob.Suspending) async {
        var isFull = false
        while !isEnding, !isFull {
            let retry = takeRetry()
            guard let place = retry?.place ?? take(1)?.lowerBound else { break }
            let index = positions[place]
            if retry == nil, skipped.contains(index) { continue }
            flight.begin(index, slot: slot.number)
            let (began, attempt) = (clock(), newAttempt(after: retry?.failures ?? 0))
            let body = AsyncBody(executorPreference: options.scheduler) { try await process(index, attempt) }
            // A timer, because an output may keep the coordinator busy. If every worker computes, the coordinator cancels.
            let timer = attempt.deadline.map { queue.asyncAfter(deadline: $0) { body.cancel() } }
            let result = await slot.result(of: body, deadline: attempt.deadline) { isEnding }
            timer?.cancel()
            settle(result, of: attempt, place, time: clock() &- began, in: slot)
            isFull = self.isFull(slot)
        }
        leave(slot, isFull: isFull)
    }

    private func isFull(_ slot: Slot) -> Bool {
        slot.tally.withLock { tally in
            max(tally.heldBytes, tally.entries.bytes.count) > Self.mostHeld || !tally.records.isEmpty
        }
    }

    private func leave(_ slot: Slot, isFull: Bool) {
        flight.end(slot: slot.number)
        state.withLock { state in
            state.active -= 1
            if isFull { state.full.append(slot) } else { state.free.append(slot) }
        }
        wake.signal()
    }

    private func take(_ count: Int) -> Range<Int>? {
        if returnedCount.load(ordering: .relaxed) > 0, let places = state.withLock({ $0.returned.popLast() }) {
            returnedCount.subtract(1, ordering: .relaxed)
            return places
        }
        var start = next.load(ordering: .relaxed)
        while true {
            let limit = end.load(ordering: .relaxed)
            guard start < limit else { return nil }
            let stop = min(start + count, limit)
            // Relaxed: the counter only assigns places and publishes no data.
            let (isOurs, seen) = next.weakCompareExchange(expected: start, desired: stop, ordering: .relaxed)
            if isOurs { return start..<stop }
            start = seen
        }
    }

    private func adapt(_ slot: Slot, toTime time: UInt64, of count: Int) {
        if time < Self.chunkTime / 2 {
            slot.chunk.store(min(count * 2, Self.mostInChunk), ordering: .relaxed)
        } else if time > Self.chunkTime * 2 {
            slot.chunk.store(max(1, count / 2), ordering: .relaxed)
        }
    }

    private func takeRetry() -> Retry? {
        guard waiting.load(ordering: .relaxed) > 0 else { return nil }
        let now = ContinuousClock.now
        let retry = state.withLock { state -> Retry? in
            guard let due = state.retries.first, due <= now else { return nil }
            return state.retries.removeFirst()
        }
        if retry != nil { waiting.subtract(1, ordering: .relaxed) }
        return retry
    }

    private func newAttempt(after failures: Int) -> BatchAttempt {
        BatchAttempt(number: failures + 1, deadline: options.timeLimit.map { .now + $0 }, token: token)
    }

    private func attempt(
        _ process: BatchJob.Blocking, _ place: Int, failures: Int, in slot: Slot, since last: inout UInt64
    ) {
        let index = positions[place]
        flight.begin(index, slot: slot.number)
        let attempt = newAttempt(after: failures)
        let result: Result<[UInt8], any Error>
        do {
            result = .success(try process(index, attempt))
        } catch {
            result = .failure(error)
        }
        let now = clock()
        let time = now &- last
        last = now
        settle(result, of: attempt, place, time: time, in: slot)
    }

    /// Records the result of an attempt, or schedules a retry.
    private func settle(
        _ result: Result<[UInt8], any Error>, of attempt: BatchAttempt, _ place: Int, time: UInt64, in slot: Slot
    ) {
        let (index, attempts) = (positions[place], attempt.number)
        switch result {
        case .success(let output) where keepsEntries && output.count > mostOutput:
            let failure = BatchFailure(
                attempts: attempts,
                description: "the output is too large (\(output.count) bytes; a journal takes \(mostOutput) per item): "
                    + "write it to a file and return its name")
            note(place, index, .failure(failure), attempts: attempts, time: time, in: slot)
        case .success(let output):
            if let deadline = attempt.deadline, deadline <= .now { slot.tally.withLock { $0.late.append(place) } }
            note(place, index, .success(output), attempts: attempts, time: time, in: slot)
        case .failure(let error):
            // The next run repeats an attempt that was asked to stop. The signal may reach a command before or after
            // this run.
            if isEnding, !(error is any BatchFault) { break }
            var sentence = "\(error)"
            if let limit = options.timeLimit, let deadline = attempt.deadline, deadline <= .now {
                sentence = "over its time limit of \(limit): \(sentence)"
            }
            if attempts < options.retry.attempts {
                slot.tally.withLock { $0.retries += 1 }
                add(
                    Retry(
                        due: .now + options.retry.wait(after: attempts), place: place,
                        failures: attempts))
            } else {
                let failure = BatchFailure(attempts: attempts, description: sentence)
                note(place, index, .failure(failure), attempts: attempts, time: time, in: slot)
            }
        }
        flight.begin(-1, slot: slot.number)
    }

    private func note(
        _ place: Int, _ index: Int, _ result: Result<[UInt8], BatchFailure>, attempts: Int, time: UInt64,
        in slot: Slot
    ) {
        slot.tally.withLock { tally in
            tally.busy += time
            tally.times.note(time)
            if tally.slowest.count < 10 || time > tally.slowest[9].nanoseconds {
                let at = tally.slowest.firstIndex { $0.nanoseconds < time } ?? tally.slowest.count
                tally.slowest.insert((time, place), at: at)
                if tally.slowest.count > 10 { tally.slowest.removeLast() }
            }
            switch result {
            case .success(let output):
                tally.done += 1
                keep(index, .output, attempts, output, in: &tally)
                if keepsOutputs { tally.heldBytes += output.count }
            case .failure(let failure):
                tally.quarantined.append((place, failure))
                keep(index, .quarantined, attempts, Array(failure.description.utf8.prefix(Self.mostError)), in: &tally)
            }
            if keepsOutputs { tally.results.append((place, result)) }
        }
    }

    private func keep(
        _ index: Int, _ kind: Entry.Kind, _ attempts: Int, _ bytes: [UInt8], in tally: inout Tally
    ) {
        guard keepsEntries else { return }
        if tally.entries.count > 0, tally.entries.bytes.count + bytes.count > mostOutput {
            tally.records.append(tally.entries.take())
        }
        tally.entries.append(index: index, kind: kind, attempts: attempts, bytes: bytes)
    }

    private func clock() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
