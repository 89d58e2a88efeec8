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
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swiftc", "-swift-version", "\(mode)", "-I", modules, "-Xcc",
            "-fmodule-map-file=\(include)/module.modulemap", "-Xcc", "-I\(include)", file.path,
        ]
        process.arguments? += flow ? ["-emit-sil", "-o", "/dev/null"] : ["-typecheck"]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
