import Foundation

/// A program, run to its end.
struct Tool {
    var program: String
    var arguments: [String]
    /// On top of this process's own; nil takes a variable away.
    var environment: [String: String?] = [:]

    init(_ program: String, _ arguments: [String], environment: [String: String?] = [:]) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
    }

    /// Its exit code, and its output and errors as they came.
    func run(in directory: URL) throws -> (status: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.environment = environment.reduce(into: ProcessInfo.processInfo.environment) { $0[$1.key] = $1.value }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
