import Foundation
import Testing

/// What a program gets that depends on the libraries: Overdrive, and nothing else. Tests/Clients builds and runs one.
@Suite("A client of the libraries", .serialized)
struct ClientTests {
    /// Where this package's manifest stands.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("fetches no other repository with a URL of the package")
    func url() throws {
        let git = Tool("/usr/bin/env", ["git", "-C", Self.package.path, "rev-parse", "HEAD"])
        let (status, revision) = try git.run(in: Self.package)
        guard status == 0 else { return }  // The sources came without their history.
        let client = try Client(
            dependency: """
                .package(url: "file://\(Self.package.path)", revision: "\(revision.split(separator: "\n")[0])")
                """, identity: Self.package.lastPathComponent)
        _ = try client.swift("package", "resolve")
        try client.expectNoOtherDependency()
        let checkouts = try FileManager.default.contentsOfDirectory(
            atPath: client.directory.appendingPathComponent(".build/checkouts").path)
        #expect(checkouts == [Self.package.lastPathComponent])
    }

    @Test("could not depend on unsafe flags: there are none")
    func unsafeFlags() throws {
        let manifest = try String(
            contentsOf: Self.package.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(!manifest.contains("unsafeFlags"))
    }
}

/// A package in a temporary directory that uses ours.
private final class Client {
    let directory: URL

    init(dependency: String, identity: String = "overdrive") throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("overdrive-client-\(UUID().uuidString)")
        let sources = directory.appendingPathComponent("Sources/client")
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
        try """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "client",
            dependencies: [\(dependency)],
            targets: [
                .executableTarget(
                    name: "client", dependencies: [.product(name: "Overdrive", package: "\(identity)")])
            ]
        )
        """.write(to: directory.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
        try "import Overdrive\n"
            .write(to: sources.appendingPathComponent("main.swift"), atomically: true, encoding: .utf8)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func swift(_ arguments: String...) throws -> String {
        let (status, output) = try Tool("/usr/bin/env", ["swift"] + arguments).run(in: directory)
        #expect(status == 0, "swift \(arguments.joined(separator: " ")): \(output)")
        return output
    }

    func expectNoOtherDependency() throws {
        struct Package: Decodable {
            var identity: String
            var dependencies: [Package]
        }
        let output = try swift("package", "show-dependencies", "--format", "json")
        let json = output[(output.firstIndex(of: "{") ?? output.startIndex)...]
        let client = try JSONDecoder().decode(Package.self, from: Data(json.utf8))
        #expect(client.dependencies.count == 1)
        #expect(client.dependencies.flatMap(\.dependencies).map(\.identity) == [])
    }
}
