internal import BenchmarkKit

// libdispatch has no setting for its threads: as many CPUs as workers are all it sees.
Harness.limitToCPUs(Harness.workers)
let continuing = Harness.value("continuing", 0) == 1
let handoffs = Handoffs<Queues>.entries + [("handoff-continuation", Handoffs<Queues>.continuation), ("handoff-actor", { Handoffs<Queues>.actor(on: ActorQueue()) })]
let onAnyQueue = Closures<Queues>.entries + Closures<Queues>.retryEntries + Closures<Queues>.timedEntries + Graphs.entries + handoffs
if Queues.isGlobal { Harness.main(onAnyQueue) }
Harness.main(
    (continuing ? Continuing.entries : Shapes<Apply>.trees) + Shapes<Apply>.loops + onAnyQueue
        + Closures<Queues>.serialEntries + Closures<Queues>.syncEntries + Closures<Queues>.barrierEntries
        + Closures<Queues>.pausableEntries)
