internal import BenchmarkKit

// Swift Concurrency on its default executor, which has no setting: as many CPUs as workers are all it sees.
Harness.limitToCPUs(Harness.workers)

/// Runs what suspends from a thread that is no task's, and waits for it.
func blocking(_ body: @escaping @Sendable () async -> Void) {
    let gate = Gate()
    Task.detached {
        await body()
        gate.open()
    }
    gate.pass()
}

Harness.main(Trees.entries + Loops.entries + Tasks.entries)
