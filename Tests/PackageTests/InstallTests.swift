import Foundation
import Testing

/// What `make install` puts where, with the command as it stands beside these tests.
@Suite("An installed command")
struct InstallTests {
    private static let files: Set = [
        "bin/overdrive", "lib/liboverdrive-global.so", "lib/liboverdrive-preload.so", "share/man/man1/overdrive.1",
        "share/bash-completion/completions/overdrive", "share/zsh/site-functions/_overdrive",
        "share/fish/vendor_completions.d/overdrive.fish", "share/man/man1/overdrive-run.1", "share/man/man1/overdrive-checksum.1",
        "share/man/man1/overdrive-merge.1", "share/man/man1/overdrive-submit.1", "share/man/man1/overdrive-status.1",
        "share/man/man1/overdrive-machine.1", "share/man/man1/overdrive-bench.1", "share/man/man1/overdrive-preload.1",
        "share/man/man1/overdrive-adopt.1", "share/man/man1/overdrive-trace.1",
        "share/man/man1/overdrive-top.1", "share/man/man1/overdrive-dump.1",
    ]

    private let root = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-install-\(UUID().uuidString)")
    private let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    private func install(_ arguments: String..., prefix: String = "/opt/overdrive") throws -> (status: Int32, output: String) {
        try Tool(
            ClientTests.package.appendingPathComponent("scripts/install").path, arguments,
            environment: ["DESTDIR": root.path, "PREFIX": prefix]
        ).run(in: ClientTests.package)
    }

    private var installed: Set<String> {
        let folder = root.appendingPathComponent("opt/overdrive")
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return Set(names.filter { name in
            var isFolder: ObjCBool = false
            let path = folder.appendingPathComponent(name).path
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
        })
    }

    @Test("has its manual, completions and what it preloads, works from there, and goes without a trace")
    func life() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let (status, output) = try install("--from", products.path)
        try #require(status == 0, "\(output)")
        #expect(installed == Self.files)
        let folder = root.appendingPathComponent("opt/overdrive")
        func run(_ program: String, _ arguments: String...) throws -> (status: Int32, output: String) {
            try Tool("/usr/bin/env", [program] + arguments).run(in: folder)
        }

        // It finds what it preloads by its own place.
        let preloaded = try run("bin/overdrive", "preload", "--", "/bin/sh", "-c", "echo $LD_PRELOAD")
        #expect(preloaded.status == 0 && preloaded.output.hasSuffix("/opt/overdrive/bin/../lib/liboverdrive-preload.so\n"),
                "\(preloaded.output)")

        // The manual has a section for each command that the help lists, with the options of each.
        let manual = try String(contentsOf: folder.appendingPathComponent("share/man/man1/overdrive.1"), encoding: .utf8)
        let help = try run("bin/overdrive", "--help").output
        let commands = help[(help.range(of: "SUBCOMMANDS:")?.upperBound ?? help.endIndex)...]
            .split(separator: "\n").compactMap { $0.wholeMatch(of: /\s\s([a-z]+)\s.+/)?.1 }
        #expect(commands.count >= 9, "\(commands)")
        for command in commands { #expect(manual.contains("\n.SH \"overdrive \(command)\"\n"), "\(command)") }
        #expect(manual.contains("\\-\\-files0\\-from") && manual.contains("\\-\\-journal"))
        #expect(manual.hasPrefix(".TH OVERDRIVE 1 \"\" \"overdrive 0."))

        // A page of a command has its options, exit codes, signals and files.
        let page = try String(contentsOf: folder.appendingPathComponent("share/man/man1/overdrive-run.1"), encoding: .utf8)
        for part in ["OVERDRIVE-RUN", "\\-\\-halt", ".SH \"EXIT CODES\"\n", "\n.B \\&126, 127\n", ".SH \"SIGNALS\"", ".SH \"FILES\""] {
            #expect(page.contains(part), "\(part)")
        }
        for command in commands {
            let page = try String(contentsOf: folder.appendingPathComponent("share/man/man1/overdrive-\(command).1"), encoding: .utf8)
            for part in ["EXIT CODES", "SIGNALS", "FILES"] { #expect(page.contains("\n.SH \"\(part)"), "\(command): \(part)") }
        }
        // Shells complete each option that the help of run lists.
        let options = try run("bin/overdrive", "run", "--help").output.matches(of: /\n\s\s(?:-\S,\s)?(--[a-z][a-z-]*)/).map { String($0.1) }
        #expect(options.count >= 30, "\(options)")
        for file in Self.files where file.contains("completions") || file.contains("site-functions") {
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for option in options { #expect(text.contains(file.hasSuffix("fish") ? "'\(option.dropFirst(2))'" : option), "\(file): \(option)") }
        }

        let completions = "share/bash-completion/completions/overdrive"
        #expect(try run("bash", "-n", completions).status == 0)
        let complete = "source \(completions); complete -p overdrive"
        #expect(try run("bash", "-c", complete).output.contains("overdrive"))

        #expect(try install("--uninstall").status == 0)
        #expect(installed.isEmpty)
        #expect(try install("--uninstall").status == 0)
    }

    @Test("is not put anywhere where a path is half, a build is missing, or an argument unknown")
    func refused() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let half = try install("--from", products.path, prefix: "usr")
        #expect(half.status == 64 && half.output.contains("PREFIX is 'usr': it has to be a whole path"), "\(half.output)")
        let missing = try install("--from", "/usr/share")
        #expect(missing.status == 66 && missing.output.contains("there is no /usr/share/overdrive: build it with"), "\(missing.output)")
        let unknown = try install("--all")
        #expect(unknown.status == 64 && unknown.output.contains("unknown argument '--all'"), "\(unknown.output)")
        #expect(installed.isEmpty)
    }
}
