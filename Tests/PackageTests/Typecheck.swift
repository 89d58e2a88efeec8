import Foundation

/// What the compiler says of a file that uses the modules that these tests were built with.
enum Typecheck {
    static func errors(in source: String) throws -> String {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("overdrive-typecheck-\(UUID().uuidString).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let include = ClientTests.package.appendingPathComponent("CScheduler/include").path
        let modules = ClientTests.package.appendingPathComponent(".build/debug/Modules").path
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-I", modules, "-Xcc",
            "-fmodule-map-file=\(include)/module.modulemap", "-Xcc", "-I\(include)", file.path,
        ]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
