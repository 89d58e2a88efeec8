// Owns the controlled runs of the engine, as OverdriveTesting uses them: one run of a body, its report, and the calls
// that a thread of a run makes. It knows no strategy.

internal import CScheduler

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The scheduler and the queues that the process-wide names stand for inside a controlled run.
@safe package final class ControlledScope: @unchecked Sendable {
    // Written by the run's first thread before any other thread of the run exists.
    fileprivate(set) var scheduler: Scheduler?
    // The thread that has the baton holds the lock for a few lines without a scheduling point.
    private let globals = Locked<[String: TaskQueue]>([:])
    private let endings = Locked<[@Sendable () -> Void]>([])

    deinit {
        endings.withLock { $0 }.forEach { $0() }
    }

    /// The scope of the calling thread, or nil outside a run.
    static var here: ControlledScope? {
        unsafe od_control_owner().map { unsafe Unmanaged<ControlledScope>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Calls `body` after the run, on the thread that releases it. Does not call it after a dead run.
    func atEnd(_ body: @escaping @Sendable () -> Void) {
        endings.withLock { $0.append(body) }
    }

    /// Returns the run's shared queue of this label, or nil before the run has a scheduler.
    func global(_ label: String, qos: TaskQueue.QoS) -> TaskQueue? {
        guard let scheduler else { return nil }
        return globals.withLock { queues in
            if let queue = queues[label] { return queue }
            let queue = TaskQueue.shared(label, qos: qos, on: scheduler)
            queues[label] = queue
            return queue
        }
    }
}

/// One controlled run: its end, its failure and its steps.
@safe package final class ControlledRun {
    package enum Policy {
        case continues, random
        case priorities(changes: Int, expected: Int)
    }

    package struct Choice: Equatable, Sendable {
        package var decision: UInt32
        package var thread: UInt32

        package init(decision: UInt32, thread: UInt32) {
            self.decision = decision
            self.thread = thread
        }
    }

    package enum End: UInt32 { case over, deadlock, livelock, stuck, left }

    package struct Step {
        package let kind: UInt8
        package let thread, chosen, usual, decision: UInt32
        package let ready: UInt64

        /// Whether more than one thread could go on.
        package var isDecision: Bool { ready & (ready &- 1) != 0 }

        /// Whether the thread wants another thread to go on.
        package var yields: Bool { kind == OD_CONTROL_YIELDS.rawValue }

        /// Whether the label is that of a queue.
        package var namesQueue: Bool { kind < OD_CONTROL_WAITS.rawValue }

        /// Whether the thread may go on.
        package func isReady(_ thread: UInt32) -> Bool { ready >> UInt64(thread) & 1 == 1 }
    }

    package struct Options {
        package var policy = Policy.continues
        package var seed: UInt64 = 0
        package var forced: [Choice] = []
        package var mostSteps: UInt32 = 20_000
        package var workers = 2
        package var spareWorkers = 16
        /// The beginning of the line that a trap writes to stderr, or nil.
        package var trapLine: String?

        package init() {}
    }

    private let handle: OpaquePointer
    private var report: od_control_report
    private let scope: ControlledScope

    private init(handle: OpaquePointer, report: od_control_report, scope: ControlledScope) {
        unsafe self.handle = handle
        unsafe self.report = report
        self.scope = scope
    }

    deinit {
        // A dead run's threads still use all that the body made.
        if isDead { _ = unsafe Unmanaged.passRetained(scope) }
        unsafe od_control_free(handle)
    }

    private final class Call {
        let scope: ControlledScope
        let options: Options
        let body: (Scheduler) -> Void

        init(scope: ControlledScope, options: Options, body: @escaping (Scheduler) -> Void) {
            (self.scope, self.options, self.body) = (scope, options, body)
        }

        /// On the run's first thread. The scheduler's pool is created here, so its clock is the run's.
        func run() {
            do {
                let scheduler = try Scheduler(
                    controlledWorkers: options.workers, spareWorkers: options.spareWorkers)
                scope.scheduler = scheduler
                body(scheduler)
                od_control_refuse_threads(false)
                let left: ShutdownReport = scheduler.shutdown(timeout: .seconds(3600))
                if left.cancelled + left.stuck > 0 {
                    ControlledRun.fail(
                        "\(left.cancelled + left.stuck) closures of the body were left over. Wait for them, and resume suspended queues.",
                        file: nil, line: 0)
                }
            } catch {
                ControlledRun.fail("\(error)", file: nil, line: 0)
            }
        }
    }

    /// Runs `body` on a thread of a new run, with a scheduler of the run, and returns when it has ended or cannot end.
    package static func run(_ options: Options, _ body: @escaping (Scheduler) -> Void) -> ControlledRun {
        let scope = ControlledScope()
        let call = Call(scope: scope, options: options, body: body)
        var settings = unsafe od_control_options()
        switch options.policy {
        case .continues: unsafe settings.policy = OD_CONTROL_CONTINUES
        case .random: unsafe settings.policy = OD_CONTROL_RANDOM
        case .priorities(let changes, let expected):
            unsafe settings.policy = OD_CONTROL_PRIORITIES
            unsafe settings.changes = UInt32(clamping: changes)
            unsafe settings.expected = UInt32(clamping: expected)
        }
        unsafe settings.seed = options.seed
        unsafe settings.most_steps = options.mostSteps
        unsafe settings.owner = Unmanaged.passUnretained(scope).toOpaque()
        unsafe settings.label = { queue in unsafe queue.map { unsafe od_queue_label(OpaquePointer($0)) } ?? nil }
        unsafe settings.owns = od_control_owns
        let forced = options.forced.map { od_control_choice(decision: $0.decision, thread: $0.thread) }
        var report = unsafe od_control_report()
        let trapLine = unsafe options.trapLine.flatMap { unsafe strdup($0) }
        defer { unsafe free(trapLine) }
        unsafe settings.trap_line = UnsafePointer(trapLine)
        let handle = unsafe forced.withUnsafeBufferPointer { forced in
            unsafe settings.forced = forced.baseAddress
            unsafe settings.forced_count = forced.count
            return unsafe od_control_run(&settings, { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<Call>.fromOpaque(context).takeRetainedValue().run()
            }, Unmanaged.passRetained(call).toOpaque(), &report)
        }
        guard let handle = unsafe handle else { trap("explore: out of memory. Raise the memory limit.") }
        return unsafe ControlledRun(handle: handle, report: report, scope: scope)
    }

    package var end: End { unsafe End(rawValue: report.end.rawValue) ?? .stuck }
    package var hasFailed: Bool { unsafe report.failed }
    package var isDead: Bool { end != .over }
    package var failedStep: Int? { hasFailed ? unsafe Int(report.failed_step) : nil }
    package var decisions: Int { unsafe Int(report.decisions) }
    package var threads: Int { unsafe Int(report.threads) }
    package var stepCount: Int { unsafe report.steps }
    package var time: Duration { unsafe .nanoseconds(report.time_ns) }
    /// The wake-ups and submissions of threads outside the run.
    package var callsFromOutside: Int { unsafe Int(report.outside) }

    /// The first forced decision whose thread could not go on.
    package var missed: UInt32? { unsafe report.missed == .max ? nil : unsafe report.missed }

    package var text: String {
        unsafe withUnsafeBytes(of: &report.text) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    package func threadName(_ number: UInt32) -> String {
        unsafe od_control_thread(handle, number).map { unsafe String(cString: $0) } ?? ""
    }

    package var steps: [Step] {
        guard let log = unsafe report.log else { return [] }
        return unsafe UnsafeBufferPointer(start: log, count: stepCount).map { step in
            unsafe Step(
                kind: step.kind, thread: UInt32(step.thread), chosen: UInt32(step.chosen), usual: UInt32(step.usual),
                decision: step.decision, ready: step.ready)
        }
    }

    /// Returns the queue, the wait or the operation that a step names, and its place in the sources; both may be empty.
    package func account(of step: Int) -> (label: String, place: String) {
        guard var step = unsafe step < stepCount ? report.log?[step] : nil else { return ("", "") }
        let label = unsafe withUnsafeBytes(of: &step.label) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let file = unsafe step.file.map { unsafe String(cString: $0) }
        return (label, file.map { unsafe "\($0):\(step.line)" } ?? "")
    }

    // MARK: - Inside a run

    package static var isInside: Bool { od_control_is_inside() }

    /// The time since the beginning of the run; zero outside a run.
    package static var now: Duration { .nanoseconds(od_control_time()) }

    package static func refuseThreads(_ refuses: Bool) { od_control_refuse_threads(refuses) }

    package enum Point {
        case program, locks, atomic

        fileprivate var kind: od_control_kind {
            switch self {
            case .program: OD_CONTROL_POINT
            case .locks: OD_CONTROL_LOCKS
            case .atomic: OD_CONTROL_ATOMIC
            }
        }
    }

    package static func point(_ kind: Point, label: StaticString?, file: StaticString, line: UInt32) {
        unsafe od_control_point(kind.kind, label?.utf8Start, file.utf8Start, line)
    }

    package static func fail(_ text: String, file: StaticString?, line: UInt32) {
        unsafe text.withCString { unsafe od_control_fail($0, file?.utf8Start, line) }
    }

    /// Waits until a thread of the run calls ``wake(_:)`` with the same object. Only inside a run.
    package static func wait(_ place: AnyObject, _ what: StaticString) {
        unsafe od_control_wait(Unmanaged.passUnretained(place).toOpaque(), what.utf8Start)
    }

    package static func wake(_ place: AnyObject) {
        unsafe od_control_wake(Unmanaged.passUnretained(place).toOpaque())
    }
}
