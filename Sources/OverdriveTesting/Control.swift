// Owns the calls of a body to its run. The body and its closures make them. Outside a run they do nothing.

internal import OverdriveCore

/// The body's access to its run: scheduling points, checks and the run's clock.
///
///     try explore { scheduler, control in
///         let queue = TaskQueue(scheduler: scheduler)
///         let group = WaitGroup()
///         queue.async(group: group) { control.schedulingPoint() }
///         group.wait()
///         control.check(queue.pendingTaskCount == 0)
///     }
public struct Control: Sendable {
    init() {}

    /// Lets another thread go on here, if the strategy chooses so.
    ///
    /// Plain code has no scheduling points. Call this between a read and a write if another thread may act between them.
    ///
    /// - Parameters:
    ///   - file: The calling file, for the story of a failure.
    ///   - line: The calling line.
    /// - Threading: Any thread of the run; outside a run it does nothing.
    /// - Cost: One decision, and a hand-over of the baton if another thread goes on.
    public func schedulingPoint(file: StaticString = #fileID, line: UInt32 = #line) {
        ControlledRun.point(.program, label: nil, file: file, line: line)
    }

    /// Fails the run if `condition` is false. The run goes on to its end.
    ///
    /// - Parameters:
    ///   - condition: The promise of the code under test.
    ///   - message: The problem, in words.
    ///   - file: The calling file, for the story of the failure.
    ///   - line: The calling line.
    /// - Threading: Any thread of the run.
    /// - Cost: None if the condition holds.
    public func check(
        _ condition: Bool, _ message: @autoclosure () -> String = "a check does not hold", file: StaticString = #fileID,
        line: UInt32 = #line
    ) {
        if !condition { ControlledRun.fail(message(), file: file, line: line) }
    }

    /// The time since the beginning of the run, on the run's clock. The clock stands still while a thread can go on.
    public var now: Duration { ControlledRun.now }

    /// Blocks the calling thread until the run's clock has passed `time`. No real time passes.
    ///
    /// - Parameter time: The time on the run's clock; zero or less returns at once.
    /// - Threading: Any thread of the run. A spare worker may replace a worker that sleeps.
    /// - Cost: One wait.
    public func sleep(for time: Duration) {
        let never = WaitGroup()
        never.enter()
        _ = never.wait(timeout: time)
        never.leave()
    }

    /// Refuses new threads to the scheduler, as a system does at its limit, or no longer.
    ///
    /// - Parameter refuses: Whether new threads are refused from now on.
    /// - Threading: Any thread of the run.
    /// - Cost: None.
    public func refuseThreads(_ refuses: Bool = true) {
        ControlledRun.refuseThreads(refuses)
    }
}
