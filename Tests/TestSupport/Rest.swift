internal import Foundation

/// Waits until these threads sleep, all of them at one moment: what can go on without the caller has done so, and who is
/// to wait waits. Without a set, all threads of the process but the caller. False: that moment never came.
///
/// A thread that was woken, or is just beginning, is no sleeper to the kernel from the wake on. So nothing is under way
/// from one thread to another when all were asleep in two looks and none has been switched to in between.
package func comesToRest(_ threads: Set<String>? = nil) -> Bool {
    let caller = thisThread()
    return eventually {
        guard let first = sleepers(threads, but: caller) else { return false }
        return sleepers(threads, but: caller) == first
    }
}

/// The calling thread, as ``comesToRest(_:)`` takes it.
package func thisThread() -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))?.split(separator: "/").last.map(String.init) ?? ""
}

/// How often each has been switched from; nil: not all of them sleep. One that has ended sleeps for good.
private func sleepers(_ threads: Set<String>?, but caller: String) -> [String: [Substring]]? {
    guard let all = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") else { return nil }
    var switches: [String: [Substring]] = [:]
    for thread in threads ?? Set(all).subtracting([caller]) {
        guard let status = try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8) else { continue }
        let lines = status.split(separator: "\n")
        guard lines.contains(where: { $0.hasPrefix("State:\tS") }) else { return nil }
        switches[thread] = lines.filter { $0.contains("ctxt_switches") }
    }
    return switches
}
