internal import OverdriveCore
internal import Synchronization

/// The events that wait, in the order in which they came: kept while the boot runs, then delivered one at a time.
final class EventLine: Sendable {
    typealias Visit = @Sendable (AppTask) throws -> Void

    private enum Item {
        case event(any AppEvent)
        case visit(Visit)
    }

    /// What has become of events and visits.
    struct Counts: Sendable {
        var accepted = 0
        var delivered = 0
        var refused = 0
        var dropped = 0
        /// Errors that visits threw which had waited, so that nobody was there to catch them.
        var visitErrors: [String] = []
        /// Of the first that was refused.
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
        /// Tasks are being stopped: not every one of them hears of what comes now.
        var isLeft = false
        /// What was heard only then.
        var unheard = 0
        /// Whether tasks hear of something just now.
        var isBeingHeard = false
        var whenDrained: (@Sendable () -> Void)?

        var count: Int { waiting.count - head }
        /// The events among them, which are what the capacity is for: a program makes as many visits as it has written.
        var eventCount = 0

        mutating func add(_ item: Item) {
            waiting.append(item)
            if case .event = item { eventCount += 1 }
        }

        /// Drops the event that has waited longest. The visits before it keep their places.
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
    /// Events and visits that were accepted, and that not every task has heard of.
    var undelivered: Int { state.withLock { $0.count + $0.unheard + ($0.isBeingHeard ? 1 : 0) } }

    /// Nobody waits for what has not been delivered any more.
    func leave() { state.withLock { $0.isLeft = true } }

    /// Takes an event in, or says why not.
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

    /// Keeps a visit until the boot has ended. False: it has, and the caller makes the visit itself.
    func keep(_ visit: @escaping Visit) -> Bool {
        let (kept, begins) = state.withLock { state -> (Bool, Bool) in
            guard !state.isLive, !state.isClosed else { return (false, false) }
            state.add(.visit(visit))
            return (true, begin(&state))
        }
        if begins { queue.async { self.deliver() } }
        return kept
    }

    /// The boot has ended: what has waited is delivered, and then what comes.
    func open() {
        let begins = state.withLock { state in
            state.isOpen = true
            if state.count == 0 { state.isLive = true }
            return begin(&state)
        }
        if begins { queue.async { self.deliver() } }
    }

    /// Nothing more is taken in.
    func refuseFromNowOn() {
        state.withLock { $0.isClosed = true }
    }

    /// Nothing more is taken in. `whenDrained` is called once, when what was taken in is delivered; what came before a
    /// boot that never ended never is.
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
