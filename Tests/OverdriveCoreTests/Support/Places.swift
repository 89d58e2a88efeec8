import Foundation
import OverdriveCore

/// The CPUs that the calling thread may run on, of the kernel's list such as `0-3,8`.
func allowedCPUs() -> [Int] {
    let status = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
    let list = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:\t") }?.split(separator: "\t").last ?? ""
    return list.split(separator: ",").flatMap { range in
        let ends = range.split(separator: "-").compactMap { Int($0) }
        return Array(ends[0]...ends[ends.count - 1])
    }
}

/// The CPUs of each worker's place on this machine. Called by a thread that has no place of its own.
func plannedCPUs(_ policy: String, workers: Int) throws -> Set<[Int]> {
    let machine = Machine.current
    let all = machine.cpus.map(\.id).sorted()
    let plan = try machine.plan(policy: policy, workers: workers)
    let isByNode = plan.reason.hasPrefix("node: ")  // which the automatic one may choose
    return Set(
        plan.seats.map { seat in
            if let cpu = seat.cpu { return [cpu] }
            return isByNode ? machine.cpus.filter { $0.node == seat.node }.map(\.id).sorted() : all
        })
}
