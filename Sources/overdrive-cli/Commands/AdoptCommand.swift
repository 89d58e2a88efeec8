#if CLI
internal import ArgumentParser

/// `overdrive adopt`.
struct AdoptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Moves a package from Dispatch and OperationQueue to Overdrive, and back.",
        discussion: """
            Each target that names a queue, a group or an operation gets one file, OverdriveAdopted.swift, with aliases \
            for Overdrive's types. The manifest that the toolchain selects gets a marked block. Nothing else \
            changes. The command builds the package before and after. It reports each new compiler error and each \
            place that stays with Dispatch or Foundation, with file and line.

            EXIT CODES: 0 all done; 1 some places stay with Dispatch, or do not compile; 64 wrong usage, nothing is changed.
            """
    )

    @Argument(help: "The package's directory.")
    var path: String

    @Option(help: ArgumentHelp("The source of Overdrive: a checkout or a repository.", valueName: "path|url"))
    var from: String?

    @Flag(help: "Prints what would change, and changes nothing.")
    var dryRun = false

    @Flag(help: "Removes exactly what was written before.")
    var undo = false

    @Flag(inversion: .prefixedNo, help: "Builds the package before and after.")
    var build = true

    func validate() throws {
        if undo, from != nil { throw ValidationError("--undo takes no --from: it only removes what was written") }
        if !undo, from == nil { throw ValidationError("name the source of Overdrive with --from: a checkout or a URL") }
    }

    func run() throws {
        let say = { (line: String) in print(line) }
        let package = Files.absolute(path)
        do {
            guard let from else {
                try Adoption.undo(package, changes: !dryRun, say: say)
                return
            }
            let source = PackageSource(from, absolute: Files.absolute)
            if case .path(let checkout) = source, Files.read(checkout + "/Package.swift") == nil {
                throw Refusal("\(from) has no Package.swift, so it is not a checkout of Overdrive")
            }
            let adoption = Adoption(source: source, changes: !dryRun, builds: build)
            if try !adoption.adopt(package, say: say) { throw ExitCode(ExitStatus.someFailed.rawValue) }
        } catch let refusal as Refusal {
            StandardError.say(refusal.sentence)
            throw ExitCode(ExitStatus.usage.rawValue)
        }
    }
}
#endif
