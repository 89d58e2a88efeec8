// fastest — three mirrors are asked, one answer counts, and who is slower is cancelled.
import Overdrive

let queue = TaskQueue.concurrent(label: "mirrors")
let mirrors = [("near", 5), ("far", 20_000), ("farther", 40_000)].map { name, milliseconds in
    Task.async {
        try await AsyncTask<Never, Never>.sleep(for: .milliseconds(milliseconds))
        return name
    }
}
let answer = Task.race(mirrors)
queue.add(task: answer)
print("answer from \(try await answer.value), the others cancelled: \(mirrors.dropFirst().allSatisfy(\.isCancelled))")
