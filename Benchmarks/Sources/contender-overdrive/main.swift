internal import BenchmarkKit

Forks.prepare()
Harness.main(
    Shapes<Forks>.trees + Shapes<Forks>.loops + Closures<Queues>.entries + Closures<Queues>.serialEntries
        + Closures<Queues>.syncEntries + Closures<Queues>.limitedEntries + Closures<Queues>.barrierEntries + Closures<Queues>.pausableEntries + Closures<Queues>.timedEntries
        + Queues.blockingEntries + Graphs.entries)
