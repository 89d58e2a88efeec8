// Owns the app's supervisor thread. It handles signals, time limits and budgets, and runs the shutdown. It never runs
// the program's code.

internal import Overdrive
internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The supervisor thread of an app.
///
/// Because it never runs the program's code, a stuck worker or a full pool cannot delay it. It sleeps in `poll(2)`
/// until a signal, a wake-up or a deadline.
final class Supervisor {
    let lifecycle: Lifecycle
    let graph: AppGraph
    private var signals: SignalHandlers?
    private let manager: ServiceManager?
    private var pressure: PressureSource?
    private var isReadyTold = false
    private var nextBeat: Int64 = .max
    /// The earliest time at which a task may exceed its limit. Limits are not checked before.
    private(set) var nextLimit: Int64 = .max
    private let shortestLimit: Int64
    var end: EndConductor?

    /// - Parameter signals: The handlers installed before the boot.
    init(of lifecycle: Lifecycle, graph: AppGraph, signals: SignalHandlers?) {
        self.lifecycle = lifecycle
        self.graph = graph
        self.signals = signals
        let options = lifecycle.options
        manager = options.notifiesServiceManager ? ServiceManager() : nil
        pressure = options.memoryPressure.flatMap {
            PressureSource($0, files: options.pressureFiles ?? PressureSource.files()) { lifecycle.note($0) }
        }
        shortestLimit = graph.tasks.lazy.compactMap { ($0.startLimit ?? options.startLimit)?.nanosecondCount }.min() ?? .max
        if shortestLimit < .max { nextLimit = lifecycle.startedAt + max(0, shortestLimit) }
        if let interval = manager?.beatInterval { nextBeat = monotonicNow() + interval }
    }

    /// The function of the thread.
    func run() {
        signals?.unblock()
        while true {
            sleep()
            let now = monotonicNow()
            if now >= nextLimit { checkLimits(now) }
            if now >= nextBeat { beat(now) }
            tellReadiness()
            let (reason, urgency, signal) = lifecycle.state.withLock { ($0.reason, $0.urgency, $0.lastSignal) }
            guard reason != nil else { continue }
            if urgency >= 2, let signal { _exit(128 + signal.number) }
            if end == nil {
                tell("STOPPING=1")
                end = EndConductor(of: lifecycle, graph: graph)
            }
            if end?.conduct(now: now, isCancelling: urgency >= 1) == true { break }
        }
        signals?.restore()
        end?.conclude()
    }

    /// Sleeps until a signal, a wake-up or the next deadline.
    private func sleep() {
        let due = min(nextLimit, nextBeat, end?.nextDeadline ?? .max)
        var descriptors = [pollfd(fd: lifecycle.wake.reading, events: Int16(POLLIN), revents: 0)]
        if let pressure { descriptors.append(pollfd(fd: pressure.descriptor, events: Int16(POLLPRI), revents: 0)) }
        // Rounded up to milliseconds, so that the thread never wakes early.
        let left = due == .max ? -1 : Int32(clamping: (max(0, due - monotonicNow()) + 999_999) / 1_000_000)
        guard unsafe poll(&descriptors, nfds_t(descriptors.count), left) > 0 else { return }
        for number in lifecycle.wake.drain() { hear(AppSignal(number: Int32(number))) }
        guard descriptors.count > 1, descriptors[1].revents != 0 else { return }
        if descriptors[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
            // The kernel then also reports POLLPRI.
            lifecycle.note("memory pressure is no longer reported: its control group is gone")
            pressure = nil
        } else if let threshold = pressure?.threshold {
            _ = lifecycle.events.post(MemoryPressure(threshold: threshold))
        }
    }

    private func hear(_ signal: AppSignal) {
        if lifecycle.options.endSignals.contains(signal) {
            lifecycle.end(.signal(signal), isUrging: true)
        } else {
            _ = lifecycle.events.post(signal)
        }
    }

    func checkLimits(_ now: Int64) {
        guard !lifecycle.state.withLock({ $0.hasBooted || $0.reason != nil }) else {
            nextLimit = .max
            return
        }
        nextLimit = now + shortestLimit  // the limit of tasks that have not started
        for task in graph.tasks where task.place == .booting {
            guard let limit = task.startLimit ?? lifecycle.options.startLimit else { continue }
            let started = task.startedAt.load(ordering: .acquiring)
            guard started > 0 else { continue }
            let due = started + limit.nanosecondCount
            if now >= due {
                lifecycle.fail(.overLimit(task: task.title, limit: limit))
                nextLimit = .max
                return
            }
            nextLimit = min(nextLimit, due)
        }
    }

    // MARK: - The service manager

    private func tellReadiness() {
        guard manager != nil, !isReadyTold, lifecycle.state.withLock({ $0.hasBooted && $0.reason == nil }) else { return }
        isReadyTold = true
        tell("READY=1")
    }

    private func tell(_ message: String) {
        if let problem = manager?.send(message) { lifecycle.note(problem) }
    }

    /// Sends a watchdog beat from a worker, so that the watchdog notices stuck workers.
    private func beat(_ now: Int64) {
        guard let manager, let interval = manager.beatInterval else { return }
        nextBeat = now + interval
        if lifecycle.state.withLock({ $0.reason != nil }) {
            // The shutdown has its own budgets.
            _ = manager.send("WATCHDOG=1")
        } else {
            lifecycle.queue.async { _ = manager.send("WATCHDOG=1") }
        }
    }
}
