internal import BenchmarkKit

// Only these rows have Swift tasks.
if Harness.value("own", 0) == 1 { Harness.main(Queues.taskEntries) }
Forks.prepare()
Harness.main(
    Shapes<Forks>.trees + Shapes<Forks>.loops + Closures<Queues>.entries + Closures<Queues>.serialEntries
        + Closures<Queues>.syncEntries + Closures<Queues>.limitedEntries + Closures<Queues>.barrierEntries + Closures<Queues>.pausableEntries + Closures<Queues>.timedEntries
        + Queues.blockingEntries
        + Handoffs<Queues>.entries + Queues.taskEntries + Graphs.entries)
