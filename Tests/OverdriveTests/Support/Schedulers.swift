import Overdrive

/// A scheduler of a test's own: fixed in size, with no spare workers unless asked for, so that what a test
/// blocks stays blocked.
func makeScheduler(workers: Int = 2, spares: Int = 0, name: String = "test") -> Scheduler {
    do {
        return try Scheduler(workers: workers, placement: .none, name: name, spareWorkers: spares)
    } catch {
        fatalError("a test's scheduler could not be made: \(error)")
    }
}
