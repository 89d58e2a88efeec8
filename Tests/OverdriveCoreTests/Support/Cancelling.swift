import OverdriveCore

/// Cancels a task as soon as something in it has begun.
///
/// From a thread of its own. What has begun holds its threads until then: workers of the shared scheduler, and one of
/// Swift's few. The test would wait for the other one, which another test may hold that waits for a worker.
func cancel<Success, Failure>(_ task: Task<Success, Failure>, when begun: Counter) {
    onThread {
        _ = eventually { begun.count > 0 }
        task.cancel()
    }
}

/// For one of very many calls: where one has waited in vain, and so is counted, the others need not.
func waitForCancellation(_ unaware: Counter) {
    if unaware.count == 0, !eventually({ Cancellation.isRequested }) { unaware.add() }
}
