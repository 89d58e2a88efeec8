import Foundation
import Testing

/// What `make api` says of modules whose public API changes.
@Suite("The check of the public API")
struct PublicAPITests {
    @Test("names what has gone or changed, and says nothing of what was added")
    func breaks() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-api-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func run(_ program: String, _ arguments: String...) throws -> (status: Int32, output: String) {
            try Tool("/usr/bin/env", [program] + arguments).run(in: folder)
        }
        func compile(_ source: String) throws {
            let modules = folder.appendingPathComponent("Modules")
            try FileManager.default.createDirectory(at: modules, withIntermediateDirectories: true)
            // The parameter's type __mode_t is no declaration of this module, and stays.
            let source = "import Glibc\npublic func opens(_ mode: mode_t) {}\n" + source
            try source.write(to: folder.appendingPathComponent("Sample.swift"), atomically: true, encoding: .utf8)
            let (status, output) = try run(
                "swiftc", "-emit-module", "-parse-as-library", "-module-name", "Sample", "Sample.swift", "-o",
                modules.appendingPathComponent("Sample.swiftmodule").path)
            try #require(status == 0, "\(output)")
        }
        func api(_ arguments: String...) throws -> (status: Int32, output: String) {
            try Tool(
                ClientTests.package.appendingPathComponent("scripts/api").path,
                arguments + ["--from", folder.path, "--baseline", folder.appendingPathComponent("api").path, "Sample"]
            ).run(in: folder)
        }

        try compile("public struct S { public func goes() {}; public func changes() -> Int { 1 }; public func stays() {} }")
        let none = try api()
        #expect(none.status == 66 && none.output.contains("there is no baseline of Sample"), "\(none.output)")
        #expect(try api("--store").output == "stored: Sample\n")
        #expect(try api() == (0, "0 changes that sources may notice\n"))

        try compile("""
            public struct S {
                public func goes() {}; public func changes() -> Int { 1 }; public func stays() {}; public func comes() {}
            }
            """)
        #expect(try api() == (0, "0 changes that sources may notice\n"))

        try compile("public struct S { public func changes() -> String { \"\" }; public func stays() {} }")
        let broken = try api()
        #expect(broken.status == 1)
        #expect(broken.output.contains("Sample: Func S.goes() has been removed\n"), "\(broken.output)")
        #expect(broken.output.contains("Sample: Func S.changes() has return type change from Swift.Int to Swift.String\n"))
        #expect(broken.output.hasSuffix("2 changes that sources may notice\n"))

        let unknown = try Tool(ClientTests.package.appendingPathComponent("scripts/api").path, ["--all"]).run(in: folder)
        #expect(unknown.status == 64 && unknown.output.contains("unknown argument '--all'"))
    }
}
