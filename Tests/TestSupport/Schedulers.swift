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
