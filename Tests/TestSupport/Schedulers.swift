package import OverdriveCore

/// A scheduler of a test's own: fixed in size, with no spare workers unless asked for, so that what a test
/// blocks stays blocked.
package func makeScheduler(
    workers: Int = 2, spares: Int = 0, stackSize: Int = 256 << 20, name: String = "test"
) -> Scheduler {
    do {
        return try Scheduler(
            workers: workers, placement: .none, name: name, stackSize: stackSize, spareWorkers: spares)
    } catch {
        fatalError("a test's scheduler could not be made: \(error)")
    }
}

/// Waits until a closure of each band has run that is submitted now: the only worker that is free has run before whatever
/// it may.
package func runOneOfEachBand(on scheduler: Scheduler) {
    let group = WaitGroup()
    for qos in TaskQueue.QoS.allCases { TaskQueue(qos: qos, scheduler: scheduler).async(group: group) {} }
    group.wait()
}
