#if CLI
import Glibc
import Testing

/// `make run`, with an engine that can be told to do wrong.
@Suite("scripts/run-checksum")
struct RunChecksumTests {
    private static let script =
        "\(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/"))/scripts/run-checksum"

    /// Runs the script over `tree` with sha256sum in the place of `overdrive`; `meanwhile` are the shell's commands
    /// before the dispatch engine reads, `after` those behind it, with `$list` its result.
    private func run(_ tree: TemporaryTree, meanwhile: String = ":", after: String = ":") throws -> Command.Outcome {
        let tools = try TemporaryTree()
        try tools.write("overdrive", """
            #!/bin/bash
            # checksum --no-progress --stats --engine ENGINE TREE
            engine=$5 tree=$6 list=$(mktemp)
            trap 'rm -f "$list"' EXIT
            cd "$tree" || exit
            [[ $engine != dispatch ]] || { \(meanwhile); }
            find "$tree" -type f -print0 | sort -z | xargs -0 sha256sum >"$list"
            [[ $engine != dispatch ]] || { \(after); }
            cat "$list"
            printf '%-24s%s\\n' time 0.01 files 3 bytes 3 workers 2 >&2

            """)
        var command = Command("bash", [Self.script, tree.path])
        chmod(tools.path + "/overdrive", 0o755)
        command.environment = ["OVERDRIVE=\(tools.path)/overdrive", "ROUNDS=1"]
        return try command.run()
    }

    private func tree() throws -> TemporaryTree {
        let tree = try TemporaryTree()
        for name in ["steady", "back\\slash", "busy"] { try tree.write(name, name) }
        // Older than the script, by the file system's clock, which is a coarse one.
        usleep(50_000)
        return tree
    }

    @Test("says how many lines match where nothing changes")
    func steady() throws {
        let outcome = try run(tree())
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.last == "sha256sum --check: all 3 lines match")
    }

    @Test("leaves files out that change while it runs, and names them")
    func changing() throws {
        let outcome = try run(tree(), meanwhile: "echo more >>busy; echo more >>'back\\slash'")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.text.contains("left out, because they changed meanwhile:\n"))
        #expect(outcome.text.contains("/busy\n"))
        #expect(outcome.text.contains("/back\\\\slash\n"))
        #expect(outcome.lines.last == "sha256sum --check: the other 1 lines match")
    }

    @Test("leaves files out that come or go while it runs")
    func going() throws {
        let outcome = try run(tree(), meanwhile: "rm busy; echo new >came")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.text.contains("/busy\n"))
        #expect(outcome.text.contains("/came\n"))
    }

    @Test("fails where an engine is wrong about a file that did not change")
    func wrong() throws {
        let outcome = try run(tree(), after: "sed -i '/steady/s/^../00/' \"$list\"")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("steady has another checksum by dispatch than by serial"), "\(outcome.errors)")
    }
}
#endif
