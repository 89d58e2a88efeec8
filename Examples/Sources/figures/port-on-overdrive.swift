import OverdriveDispatch

func portOnOverdrive() -> Int {
    let cache = PortCache()
    let (workers, lock, group) = (
        DispatchQueue(label: "workers", attributes: .concurrent), DispatchQueue(label: "lock"), DispatchGroup()
    )
    for step in 0..<portSteps {
        workers.async(group: group) {
            let found = portWork(step)
            lock.async(group: group) { cache.table[step % 512, default: 0] += found }
        }
    }
    group.wait()
    return lock.sync { cache.table.values.reduce(0, +) }
}

private final class PortCache: @unchecked Sendable { var table: [Int: Int] = [:] }
