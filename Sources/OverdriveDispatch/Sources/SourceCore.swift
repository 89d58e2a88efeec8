// Owns the state of a source: pending data, handlers, times, suspension. `DispatchSource`, timers and `SourceWatch`
// call it. Handlers run outside its lock.

internal import Dispatch
internal import OverdriveCore

/// A handler of a source with the options of its submission.
struct SourceHandler {
    let qos: DispatchQoS
    let flags: DispatchWorkItemFlags
    let work: () -> Void
}

/// The state of a source. It exists until its pending work has finished, even if its `DispatchSource` is released
/// before.
///
/// ``merge(_:by:)`` adds data from any thread. One delivery at a time passes the data to the event handler on the
/// queue; later data waits for the next delivery. After each change, ``next()`` decides the next step and contains
/// all rules.
// The section guards all changes. Handlers run outside the section, one at a time.
final class SourceCore: @unchecked Sendable {
    let handle: UInt
    let mask: UInt

    private let section = CriticalSection()
    private var queue: DispatchQueue
    private let watch: SourceWatch?
    private var times: Times?
    /// Stops the running timer.
    private var disarm: (() -> Void)?

    var eventHandler: SourceHandler?
    var cancelHandler: SourceHandler?
    var registrationHandler: SourceHandler?

    private var pending: UInt = 0
    private var told: UInt = 0
    private var suspensions = 0
    private var isActive = false
    private var isRegistered = false
    private var wasCancelled = false
    private var isReleased = false
    /// Whether a handler is being submitted, waits in the queue, or runs.
    private var isBusy = false
    private var isOver = false
    /// The number of the schedule. Ticks of an older schedule are ignored.
    private var schedule = 0

    /// The times of a timer in nanoseconds: of the wall clock if `clock` is set, otherwise of the monotonic clock. An
    /// interval of 0 means a single time.
    private struct Times {
        var first: Int64
        var interval: Int64
        var clock: WallClock?

        /// Advances `first` by `count` intervals; .max if there is no later time.
        mutating func pass(_ count: UInt) {
            guard interval > 0 else { return first = .max }
            let (time, overflow) = Int64(clamping: count).multipliedReportingOverflow(by: interval)
            let (next, isLate) = first.addingReportingOverflow(time)
            first = overflow || isLate ? .max : next
        }
    }

    init(on queue: DispatchQueue?, handle: UInt = 0, mask: UInt = 0, watch: SourceWatch? = nil) {
        self.queue = queue ?? .global()
        self.handle = handle
        self.mask = mask
        self.watch = watch
        watch?.start(telling: self)
    }

    var data: UInt { section { told } }
    var isCancelled: Bool { section { wasCancelled } }

    func set(_ handler: ReferenceWritableKeyPath<SourceCore, SourceHandler?>, to new: SourceHandler?) {
        // The old handler is released after the section, because its captures may have deinitialisers.
        let old = section {
            defer { self[keyPath: handler] = new }
            return self[keyPath: handler]
        }
        _ = consume old
    }

    func setQueue(_ new: DispatchQueue) {
        let old = section {
            defer {
                queue = new
                disarm = nil
                // A tick on the old queue is ignored, and the new timer makes up for it.
                schedule += 1
            }
            return disarm
        }
        old?()
        arm()
    }

    // MARK: - Events

    func merge(_ data: UInt, by combine: (UInt, UInt) -> UInt) {
        let step: Step? = section {
            pending = combine(pending, data)
            return next()
        }
        take(step)
    }

    /// Handles a due timer, on the queue.
    private func tick(_ count: UInt, of schedule: Int) {
        let step: Step? = section {
            guard schedule == self.schedule else { return nil }
            times?.pass(count)
            pending &+= count
            return next()
        }
        // This thread is already on the queue.
        if case .tell(let handler)? = step { tell(handler) } else { take(step) }
    }

    // MARK: - Times

    func schedule(at first: Int64, every interval: Int64?, leeway: Int64?) {
        set(Times(first: leeway.map { SourceCore.due(first, within: $0) } ?? first, interval: interval ?? 0))
    }

    /// Rounds a time up, so that several timers can share it. The result is within the leeway, which is at least 1.
    static func due(_ first: Int64, within leeway: Int64) -> Int64 {
        let grain = Int64(1) << (63 - leeway.leadingZeroBitCount)
        return grain > 1024 && first < .max / 2 ? (first | (grain - 1)) + 1 : first
    }

    /// - Parameter first: The first time of the wall clock, in nanoseconds since 1970; nil for never.
    func schedule(atWall first: Int64?, every interval: Int64?, of clock: WallClock = .shared) {
        set(Times(first: first ?? .max, interval: interval ?? 0, clock: clock))
    }

    private func set(_ times: Times) {
        let old = section {
            defer {
                self.times = times
                disarm = nil
                schedule += 1
                pending = 0
            }
            return disarm
        }
        old?()
        arm()
    }

    /// Starts a timer if the source is active and has times.
    private func arm() {
        let plan: (Times, Int, DispatchQueue)? = section {
            guard isActive, !wasCancelled, !isReleased, disarm == nil, let times, times.first != .max else { return nil }
            return (times, schedule, queue)
        }
        guard let (times, schedule, queue) = plan else { return }
        let end: () -> Void
        if let clock = times.clock {
            let timer = WallTimer(clock, on: queue.taskQueue, at: times.first, every: times.interval) {
                self.tick($0, of: schedule)
            }
            end = timer.cancel
        } else {
            let timer = queue.taskQueue.timer(dueAt: times.first, every: times.interval, qos: nil, flags: []) {
                self.tick(UInt($0.missed) + 1, of: schedule)
            }
            end = { timer.cancel() }
        }
        // Another thread may have changed the times or ended the source.
        let isStale = section {
            guard schedule == self.schedule, !wasCancelled, !isReleased, disarm == nil else { return true }
            disarm = end
            return false
        }
        if isStale { end() }
    }

    // MARK: - Control

    func activate() {
        let begins = section {
            defer { isActive = true }
            return !isActive
        }
        guard begins else { return }
        watch?.activate()
        arm()
        take(section { next() })
    }

    func suspend() {
        section { suspensions += 1 }
    }

    func resume() {
        let step: Step?? = section {
            if suspensions > 0 {
                suspensions -= 1
                return .some(next())
            }
            guard isActive else { return .none }
            trap("DispatchSource.resume(): the source is not suspended. Call it once for each suspend().")
        }
        guard let step else { return activate() }
        take(step)
    }

    func cancel() {
        let old = section {
            defer {
                wasCancelled = true
                disarm = nil
            }
            return disarm
        }
        old?()
        watch?.end()
        take(section { next() })
    }

    /// Ends the source after its last reference was released.
    func release() {
        let old = section {
            if suspensions > 0 {
                trap("DispatchSource.deinit: the source is suspended. Call resume() before the last release.")
            }
            if !isActive {
                trap("DispatchSource.deinit: the source is not activated. Call activate() once.")
            }
            defer {
                isReleased = true
                disarm = nil
            }
            return disarm
        }
        old?()
        watch?.end()
        take(section { next() })
    }

    // MARK: - What is to be done

    private enum Step {
        case register(SourceHandler?)
        case tell(SourceHandler?)
        case over(SourceHandler?, drops: [SourceHandler?])
    }

    /// Returns the next step and marks it as begun. Called inside the section.
    private func next() -> Step? {
        guard isActive, suspensions == 0, !isBusy, !isOver else { return nil }
        if wasCancelled || isReleased {
            if let watch, !watch.isGone { return nil }
            isOver = true
            let drops = [eventHandler, registrationHandler, wasCancelled ? nil : cancelHandler]
            let last = wasCancelled ? cancelHandler : nil
            (eventHandler, registrationHandler, cancelHandler) = (nil, nil, nil)
            return .over(last, drops: drops)
        }
        if !isRegistered {
            isRegistered = true
            guard let registrationHandler else { return next() }
            isBusy = true
            self.registrationHandler = nil
            return .register(registrationHandler)
        }
        guard pending != 0 else { return nil }
        isBusy = true
        return .tell(eventHandler)
    }

    private func take(_ step: Step?) {
        switch step {
        case nil:
            break
        case .register(let handler):
            submit(handler) {
                handler?.work()
                self.done()
            }
        case .tell(let handler):
            submit(handler) { self.tell(handler) }
        case .over(let handler, let drops):
            _ = consume drops
            if let handler { submit(handler, handler.work) }
        }
    }

    private func submit(_ handler: SourceHandler?, _ work: @escaping () -> Void) {
        // The closure is passed from this thread to the queue, which calls it once.
        nonisolated(unsafe) let work = work
        section { queue }.async(qos: handler?.qos ?? .unspecified, flags: handler?.flags ?? []) { unsafe work() }
    }

    /// Calls the event handler on the queue, unless the source was suspended or cancelled before.
    private func tell(_ handler: SourceHandler?) {
        let handler: SourceHandler? = section {
            guard !wasCancelled, !isReleased, suspensions == 0, pending != 0 else { return nil }
            told = watch?.isLevel == true ? pending &- 1 : pending
            pending = 0
            return eventHandler
        }
        handler?.work()
        done()
    }

    private func done() {
        let (isHandled, step) = section {
            isBusy = false
            return (pending == 0, next())
        }
        if isHandled { watch?.handled() }
        take(step)
    }

    /// Continues the end of the source, after libdispatch has released the descriptor.
    func watchIsGone() {
        take(section { next() })
    }
}
