#if CLI
internal import ArgumentParser

/// `overdrive machine`.
struct MachineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "machine",
        abstract: "Prints what was found of this machine, and how many workers follow from it."
    )
}
#endif
