// build-graph — a thousand steps, each after those that it needs, as many at a time as there are workers.
import Overdrive
import Synchronization

let order = Mutex<[Int]>([])
let queue = TaskQueue.concurrent(label: "build")
var steps: [Overdrive.Task<Void>] = []
for number in 0..<1000 {
    let step = Task.inline { order.withLock { $0.append(number) } }
    for needed in Set([number / 2, number - 1 - number % 7]) where needed < number && needed >= 0 {
        step.add(dependency: steps[needed])
    }
    steps.append(step)
}
queue.add(tasks: steps, waitUntilFinished: true)
let place = order.withLock { done in Dictionary(uniqueKeysWithValues: zip(done, done.indices)) }
let inOrder = (1..<1000).allSatisfy { place[$0 / 2, default: 1000] < place[$0, default: -1] }
print("steps \(place.count), each after what it needs: \(inOrder)")
