/// What ours does otherwise, on purpose: one row each of the table in docs/differences.md, which has their names.
enum Difference: String, CaseIterable, Sendable {
    case labels
    case cancelledWhileSuspended
    case sharedQueues
    case releasedSuspended
    case releasedInactive
    case limitOfZero
    case waitingForOneself
    case misuseSpeaks
    case fairSemaphores
    case cancelledUnsubmitted
    case itemReuse
    case plainQoS
    case fiveBands
    case bandsInOrder
    case qosInside
    case qosOverride
    case timerLives
    case barrierOnSuspended
    case barrierCounts
    case dependencyRemoved
    case priorities
    case onDispatchQueue
    case taskOrder
    case dependencyAdded
    case dependencyCircles
    case concurrentBlocks
    case specificsAround
    case specificsReplaced
    case barrierAndDependencies
    case currentQueue
    case overcommit
}
