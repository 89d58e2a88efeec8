// A program whose tasks and scheduler can be watched: lines of a log, and metrics of a backend, which here is one for tests.
//
//     swift run --package-path Tests/Observability observed
import Logging
import Metrics
import MetricsTestKit
import Overdrive
import OverdriveLogging
import OverdriveMetrics

struct Offline: Error {}

let backend = TestMetrics()
MetricsSystem.bootstrap(backend)
var logger = Logger(label: "observed")
logger.logLevel = .debug

Scheduler.logWarnings(to: logger)
let metrics = SchedulerMetrics(of: .shared)
let queue = TaskQueue.concurrent(label: "pages")
queue.timesTasks = true
queue.trackProgress()
let tasks = (1...3).map { number in
    Task.inline { () throws -> Int in
        if number == 2 { throw Offline() }
        return number
    }
}
for (number, task) in zip(1..., tasks) {
    task.name = "page \(number)"
    task.add(observer: TaskLogging(to: logger))
    queue.add(task: task)
}
queue.waitUntilAllTasksAreFinished()
for task in tasks { print(task) }
if let progress = queue.progress { print(progress) }
metrics.report()
for counter in backend.counters where counter.totalValue > 0 { print(counter.label, counter.totalValue) }
