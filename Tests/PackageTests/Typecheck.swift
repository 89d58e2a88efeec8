import Foundation

/// What the compiler says of a file that uses the modules that these tests were built with.
enum Typecheck {
    ///
    /// - Parameters:
    ///   - mode: The language mode of the compiler: 5 or 6.
    ///   - flow: Whether it also looks at what goes where, which it does only in code without other errors.
    static func errors(in source: String, mode: Int = 6, flow: Bool = false) throws -> String {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("overdrive-typecheck-\(UUID().uuidString).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let include = ClientTests.package.appendingPathComponent("CScheduler/include").path
        let modules = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("Modules").path
        let words = [
            "swiftc", "-swift-version", "\(mode)", "-I", modules, "-Xcc",
            "-fmodule-map-file=\(include)/module.modulemap", "-Xcc", "-I\(include)", file.path,
        ]
        let swiftc = Tool("/usr/bin/env", words + (flow ? ["-emit-sil", "-o", "/dev/null"] : ["-typecheck"]))
        return try swiftc.run(in: FileManager.default.temporaryDirectory).output
    }
}
