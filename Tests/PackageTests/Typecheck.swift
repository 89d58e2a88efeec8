import Foundation

/// What the compiler says of a file that uses the modules that these tests were built with.
enum Typecheck {
    ///
    /// - Parameters:
    ///   - mode: The language mode of the compiler: 5 or 6.
    ///   - flow: Whether it also looks at what goes where, which it does only in code without other errors.
    static func errors(in source: String, mode: Int = 6, flow: Bool = false) throws -> String {
        try compile([source], ["-swift-version", "\(mode)"] + (flow ? ["-emit-sil", "-o", "/dev/null"] : ["-typecheck"]))
    }

    /// The errors of the files of one module, without warnings. Empty: the module compiles.
    static func errors(inModule sources: [String]) throws -> String {
        let words = ["-swift-version", "6", "-parse-as-library", "-wmo", "-suppress-warnings", "-module-name", "Checked"]
        return try compile(sources, words + ["-emit-sil", "-o", "/dev/null"])
    }

    private static func compile(_ sources: [String], _ options: [String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-typecheck-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = sources.indices.map { folder.appendingPathComponent("file\($0).swift") }
        for (file, source) in zip(files, sources) { try source.write(to: file, atomically: true, encoding: .utf8) }
        let include = ClientTests.package.appendingPathComponent("CScheduler/include").path
        let system = ClientTests.package.appendingPathComponent("Sources/OverdriveDispatch/system").path
        let modules = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("Modules").path
        let words = [
            "swiftc", "-I", modules, "-Xcc", "-fmodule-map-file=\(include)/module.modulemap", "-Xcc", "-I\(include)",
            "-Xcc", "-fmodule-map-file=\(system)/module.modulemap",
        ]
        return try Tool("/usr/bin/env", words + options + files.map(\.path)).run(in: folder).output
    }
}
