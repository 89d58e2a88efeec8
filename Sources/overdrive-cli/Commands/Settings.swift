#if CLI
internal import ArgumentParser
internal import Glibc
internal import OverdriveCore

/// The environment variables of the scheduler. They are checked early, so that a wrong value causes a message.
enum Settings {
    /// The number of workers that the user set.
    static var workers: Int? { value(of: "OVERDRIVE_WORKERS").flatMap { Int($0) } }

    /// The placement that the user set.
    static var placement: String? { value(of: "OVERDRIVE_PLACEMENT") }

    /// The placement for a scheduler.
    static var schedulerPlacement: Scheduler.Placement {
        placement.flatMap { Scheduler.Placement(name: $0) } ?? .automatic
    }

    /// Rejects values that no scheduler accepts.
    static func validate() throws {
        if let workers = value(of: "OVERDRIVE_WORKERS"), !isWorkerCount(workers) {
            throw ValidationError(
                "OVERDRIVE_WORKERS takes a number from 1 to \(EngineName.mostJobs), not '\(workers)'."
            )
        }
        if let placement = value(of: "OVERDRIVE_PLACEMENT"), Scheduler.Placement(name: placement) == nil {
            throw ValidationError(
                "OVERDRIVE_PLACEMENT takes none, node, core or automatic, not '\(placement)'."
            )
        }
    }

    private static func isWorkerCount(_ text: String) -> Bool {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return false
        }
        return Int(text).map { (1...EngineName.mostJobs).contains($0) } ?? false
    }

    private static func value(of name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

extension Scheduler.Placement {
    /// The placement with that name, such as `node`.
    fileprivate init?(name: String) {
        guard let found = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = found
    }
}
#endif
