#if CLI
internal import ArgumentParser
internal import OverdriveCore

/// `overdrive machine`.
struct MachineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "machine",
        abstract: "Prints the CPUs and limits of this machine, and the number of workers.",
        discussion: """
            The number of workers is that of the usable CPUs (affinity mask and cpuset), or the tightest \
            cgroup quota rounded up if that is less. OVERDRIVE_WORKERS and OVERDRIVE_PLACEMENT apply, \
            except with --root.

            EXIT CODES: 0 printed; 1 the directory of --root cannot be read; 64 wrong usage; 74 the report could not be written.
            """
    )

    @Flag(help: "Prints one JSON object.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Describes the machine whose /proc and /sys were copied to this directory.", valueName: "path"))
    var root: String?

    func validate() throws {
        if root == nil { try Settings.validate() }
    }

    func run() throws {
        let report: MachineReport
        do {
            report =
                if let root {
                    try MachineReport(Machine(root: root), requested: nil, placement: nil)
                } else {
                    try MachineReport(
                        Machine(root: nil), requested: Settings.workers, placement: Settings.placement)
                }
        } catch {
            StandardError.say(error.description)
            throw ExitCode(ExitStatus.someFailed.rawValue)
        }
        let error = StandardStreams.write(Bytes(ascii: json ? try report.json() : report.table)[...], to: 1) {
            false
        }
        if error != 0 {
            StandardError.say("cannot write the results: \(sentence(forError: error))")
            throw ExitCode(ExitStatus.output.rawValue)
        }
    }
}
#endif
