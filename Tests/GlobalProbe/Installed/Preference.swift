internal import OverdriveCore
internal import ProbeWork
internal import Synchronization

/// A program that was found to lose its executor's order: every other task yields, and comes after those that do not.
enum Preference {
    static func run() async throws {
        let one = try Scheduler(workers: 1, name: "one")
        await report("yield, scheduler", one) { await Task.yield() }
        await report("yield, queue", TaskQueue.serial(label: "one").taskExecutor) { await Task.yield() }
        await report("sleep, scheduler", one) { try? await Task.sleep(for: .milliseconds(1)) }
        await report("sleep, queue", TaskQueue.serial(label: "one").taskExecutor) { try? await Task.sleep(for: .milliseconds(1)) }
        await one.shutdown(timeout: .zero)
    }

    private final class Numbers: Sendable {
        let list = Mutex<[Int]>([])
    }

    private static func report(_ name: String, _ executor: any TaskExecutor, _ pause: @escaping @Sendable () async -> Void) async {
        let seen = Numbers(), strayed = Count()
        await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: Void.self) { group in
                for number in 1...1000 {
                    group.addTask {
                        if number.isMultiple(of: 2) {
                            await pause()
                            let here = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
                            if here != executor.asUnownedTaskExecutor() { strayed.add(1) }
                        }
                        seen.list.withLock { $0.append(number) }
                    }
                }
            }
        }
        let numbers = seen.list.withLock { $0 }
        let odd = numbers.prefix(500).elementsEqual(stride(from: 1, to: 1000, by: 2))
        let even = numbers.suffix(500).elementsEqual(stride(from: 2, through: 1000, by: 2))
        Workload.say("\(name): odd first \(odd), even in order \(even), \(strayed.value) strayed")
    }
}
