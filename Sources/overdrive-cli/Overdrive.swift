#if CLI
internal import ArgumentParser

/// The `overdrive` command.
@main
struct OverdriveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overdrive",
        abstract: "Batch jobs on the Overdrive scheduler."
    )
}
#else
internal import Glibc

/// Stands in for the command in a build without the `CLI` trait, which fetches no dependency.
@main
struct OverdriveCommand {
    static func main() {
        let sentence = "overdrive: built without its command; build it with: swift build --traits CLI\n"
        write(STDERR_FILENO, sentence, sentence.utf8.count)
        exit(64)
    }
}
#endif
