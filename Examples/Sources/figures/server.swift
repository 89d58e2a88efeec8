// Requests of async functions: each parses, waits for a disk that blocks for a millisecond, and computes for a fifth of one.
import Dispatch
import Glibc
import OverdriveCore

private let requests = 400

private func compute(_ request: Int) -> Int { churn(request, rounds: 100_000) }

func server() -> Program {
    Program(name: "server") {
        var sum = 0
        for request in 0..<requests {
            usleep(1000)
            sum += compute(request)
        }
        return sum
    } dispatch: {
        let queue = DispatchQueue(label: "server", attributes: .concurrent)
        return await all { request in
            await withCheckedContinuation { continuation in
                queue.async {
                    usleep(1000)
                    continuation.resume(returning: compute(request))
                }
            }
        }
    } overdrive: {
        let queue = TaskQueue.concurrent(label: "server")
        return await all { request in
            (try? await queue.run {
                blocking { _ = usleep(1000) }
                return compute(request)
            }) ?? 0
        }
    }
}

/// All requests at once.
private func all(_ serve: @escaping @Sendable (Int) async -> Int) async -> Int {
    await withTaskGroup(of: Int.self) { group in
        for request in 0..<requests { group.addTask { await serve(request) } }
        return await group.reduce(0, +)
    }
}
