// Owns the queue of events and visits of an app. `AppTasks` adds to it, and the shutdown closes it. One closure at a
// time delivers on a worker.

internal import OverdriveCore
internal import Synchronization

/// The waiting events in order. They are kept during the boot, then delivered one at a time.
final class EventLine: Sendable {
    typealias Visit = @Sendable (AppTask) throws -> Void

    private enum Item {
        case event(any AppEvent)
        case visit(Visit)
    }

    /// The counts of events and visits.
    struct Counts: Sendable {
        var accepted = 0
        var delivered = 0
        var refused = 0
        var dropped = 0
        /// The errors of delayed visits, which had no caller to catch them.
        var visitErrors: [String] = []
        /// The message for the first refused event.
        var firstRefusal: String?
    }

    private struct State {
        var waiting: [Item] = []
        var head = 0
        var counts = Counts()
        var isOpen = false
        var isLive = false
        var isDelivering = false
        var isClosed = false
        /// Whether tasks are being stopped. Later deliveries do not reach all tasks.
        var isLeft = false
        /// The number of deliveries after that.
        var unheard = 0
        /// Whether a delivery is under way.
        var isBeingHeard = false
        var whenDrained: (@Sendable () -> Void)?

        var count: Int { waiting.count - head }
        /// The number of waiting events, which the capacity limits. Visits are not limited.
        var eventCount = 0

        mutating func add(_ item: Item) {
            waiting.append(item)
            if case .event = item { eventCount += 1 }
        }

        /// Drops the oldest event. Earlier visits keep their order.
        mutating func dropOldestEvent() {
            guard let oldest = waiting[head...].firstIndex(where: { if case .event = $0 { true } else { false } })
            else { return }
            let event = waiting[oldest]
            for index in stride(from: oldest, to: head, by: -1) { waiting[index] = waiting[index - 1] }
            waiting[head] = event
            _ = takeFirst()
        }

        mutating func takeFirst() -> Item? {
            guard head < waiting.count else {
                waiting.removeAll(keepingCapacity: true)
                head = 0
                return nil
            }
            defer { head += 1 }
            if case .event = waiting[head] { eventCount -= 1 }
            if head >= 64, head * 2 > waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            return waiting[head]
        }
    }

    private let state = Locked(State())
    private let queue: TaskQueue
    private let capacity: Int
    private let policy: AppOptions.EventPolicy
    private let listeners: @Sendable () -> [AppTask]

    init(on queue: TaskQueue, options: AppOptions, listeners: @escaping @Sendable () -> [AppTask]) {
        self.queue = queue
        capacity = max(1, options.eventCapacity)
        policy = options.eventPolicy
        self.listeners = listeners
    }

    var counts: Counts { state.withLock { $0.counts } }
    /// The number of accepted events and visits that did not reach all tasks.
    var undelivered: Int { state.withLock { $0.count + $0.unheard + ($0.isBeingHeard ? 1 : 0) } }

    /// Marks that the shutdown no longer waits for deliveries.
    func leave() { state.withLock { $0.isLeft = true } }

    /// Accepts an event, or returns the reason for a refusal.
    func post(_ event: any AppEvent) -> AppError? {
        let (error, begins) = state.withLock { state -> (AppError?, Bool) in
            if state.isClosed { return (refuse(&state, .postedAfterEnd(event: "\(type(of: event))")), false) }
            if state.eventCount >= capacity {
                guard policy == .dropOldest else {
                    return (refuse(&state, .eventsFull(event: "\(type(of: event))", capacity: capacity)), false)
                }
                state.dropOldestEvent()
                state.counts.dropped += 1
            }
            state.add(.event(event))
            state.counts.accepted += 1
            return (nil, begin(&state))
        }
        if begins { queue.async { self.deliver() } }
        return error
    }

    private func refuse(_ state: inout State, _ error: AppError) -> AppError {
        state.counts.refused += 1
        if state.counts.firstRefusal == nil { state.counts.firstRefusal = error.description }
        return error
    }

    private func begin(_ state: inout State) -> Bool {
        guard state.isOpen, !state.isDelivering, state.count > 0 else { return false }
        state.isDelivering = true
        return true
    }

    /// Keeps a visit until the boot has finished. Returns false if it has finished; the caller then makes the visit.
    func keep(_ visit: @escaping Visit) -> Bool {
        let (kept, begins) = state.withLock { state -> (Bool, Bool) in
            guard !state.isLive, !state.isClosed else { return (false, false) }
            state.add(.visit(visit))
            return (true, begin(&state))
        }
        if begins { queue.async { self.deliver() } }
        return kept
    }

    /// Starts deliveries, after the boot.
    func open() {
        let begins = state.withLock { state in
            state.isOpen = true
            if state.count == 0 { state.isLive = true }
            return begin(&state)
        }
        if begins { queue.async { self.deliver() } }
    }

    /// Refuses further events and visits.
    func refuseFromNowOn() {
        state.withLock { $0.isClosed = true }
    }

    /// Refuses further events and visits. Calls `whenDrained` once, when the accepted ones are delivered. Without a
    /// finished boot, they are not delivered.
    func close(whenDrained: @escaping @Sendable () -> Void) {
        let isDrained = state.withLock { state in
            state.isClosed = true
            if state.isDelivering { state.whenDrained = whenDrained }
            return !state.isDelivering
        }
        if isDrained { whenDrained() }
    }

    private func deliver() {
        while true {
            let (item, whenDrained) = state.withLock { state -> (Item?, (@Sendable () -> Void)?) in
                if let item = state.takeFirst() {
                    state.isBeingHeard = true
                    return (item, nil)
                }
                state.isDelivering = false
                state.isLive = true
                return (nil, state.whenDrained.take())
            }
            guard let item else {
                whenDrained?()
                return
            }
            for task in listeners() where task.place == .up {
                switch item {
                case .event(let event):
                    task.receive(event)
                case .visit(let visit):
                    do { try visit(task) } catch {
                        state.withLock { $0.counts.visitErrors.append("\(error)") }
                    }
                }
            }
            state.withLock { state in
                state.isBeingHeard = false
                if state.isLeft {
                    state.unheard += 1
                } else if case .event = item {
                    state.counts.delivered += 1
                }
            }
        }
    }
}
