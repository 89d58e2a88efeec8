#if CLI
import Foundation
import Testing

@testable import overdrive_cli

/// `overdrive adopt` on packages of a few lines; Examples/adopted is built and run in PackageTests.
@Suite("Adopting a package", .serialized)
struct AdoptTests {
    /// A package in a temporary directory.
    private final class Package {
        let path: String

        init(_ files: [String: String]) throws {
            path = NSTemporaryDirectory() + "overdrive-adopt-\(UUID().uuidString)"
            for (name, text) in files {
                let file = URL(fileURLWithPath: path + "/" + name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try text.write(to: file, atomically: true, encoding: .utf8)
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        /// Every file but what the package manager makes.
        var contents: [String: String] {
            var found: [String: String] = [:]
            for name in FileManager.default.enumerator(atPath: path)?.compactMap({ $0 as? String }) ?? []
            where !name.hasPrefix(".build") && name != "Package.resolved" {
                found[name] = try? String(contentsOfFile: path + "/" + name, encoding: .utf8)
            }
            return found
        }

        /// What it says, and whether nothing is left to do.
        func adopt(changes: Bool = true, builds: Bool = false) throws -> (isDone: Bool, lines: [String]) {
            var lines: [String] = []
            let adoption = Adoption(source: .url("https://example.org/overdrive.git"), changes: changes, builds: builds)
            let isDone = try adoption.adopt(path) { lines.append($0.replacing(path + "/", with: "")) }
            return (isDone, lines)
        }

        /// The sentence for which it is left as it is.
        func refusal(builds: Bool = false) throws -> String {
            do {
                _ = try adopt(builds: builds)
                Issue.record("it was adopted")
                return ""
            } catch let refusal as Refusal {
                return refusal.sentence.replacing(path, with: "PATH")
            }
        }
    }

    private static let manifest = """
        // swift-tools-version: 5.9
        import PackageDescription
        let package = Package(name: "p", targets: [.target(name: "A"), .target(name: "B", dependencies: ["A"]), .target(name: "C")])
        """
    private static let source = "import Dispatch\npublic let queue = DispatchQueue(label: \"a\")\n"

    @Test("changes the targets that use the types and those that depend on them, and comes back byte for byte")
    func thereAndBack() throws {
        let package = try Package([
            "Package.swift": Self.manifest, "Sources/A/A.swift": Self.source,
            "Sources/B/B.swift": "import A\n", "Sources/C/C.swift": "// DispatchQueue\nlet text = \"OperationQueue\"\n",
        ])
        let before = package.contents
        #expect(try package.adopt(changes: false).lines.count == 3)
        let dry = try Command.overdrive(["adopt", package.path, "--from", "https://example.org/o.git", "--dry-run"]).run()
        #expect(dry.status == 0 && dry.lines.count == 3 && dry.lines.allSatisfy { $0.hasPrefix("would ") }, "\(dry.text)\(dry.errors)")
        #expect(package.contents == before)
        let result = try package.adopt()
        #expect(result.isDone)
        #expect(
            result.lines == ["Sources/A/OverdriveAdopted.swift", "Sources/B/OverdriveAdopted.swift", "Package.swift"])
        let after = package.contents
        #expect(after.count == before.count + 2)
        #expect(after["Sources/A/OverdriveAdopted.swift"]?.contains("public typealias DispatchQueue = OverdriveDispatch.DispatchQueue") == true)
        let block = try #require(after["Package.swift"]?.dropFirst(Self.manifest.count))
        #expect(block.contains("where [\"A\", \"B\"].contains(target.name)"))
        #expect(try package.refusal() == "PATH/Package.swift exists, so PATH is already adopted; use --undo to reverse it")
        let dryUndo = try Command.overdrive(["adopt", package.path, "--undo", "--dry-run"]).run()
        #expect(dryUndo.lines.map { $0.prefix(10) } == ["would remo", "would remo", "would remo"], "\(dryUndo.text)")
        #expect(package.contents == after)
        try Adoption.undo(package.path, changes: true) { _ in }
        #expect(package.contents == before)
        #expect(throws: Refusal.self) { try Adoption.undo(package.path, changes: true) { _ in } }
    }

    @Test("a dry run names what stays with Dispatch and what behaves differently, with its place")
    func dryRunNamesPlaces() throws {
        let package = try Package([
            "Package.swift": Self.manifest.replacing(", .target(name: \"B\", dependencies: [\"A\"]), .target(name: \"C\")", with: ""),
            "Sources/A/A.swift": """
                import Dispatch
                func f(_ a: Operation, _ b: Operation, _ q: DispatchQueue) {
                    a.removeDependency(b)
                    q.setTarget(queue: .global())
                    // a.addExecutionBlock {}
                    Dispatch.DispatchQueue.main.sync {}
                }
                """,
        ])
        let dry = try package.adopt(changes: false)
        #expect(!dry.isDone)
        let places = dry.lines.filter { !$0.hasPrefix("would ") }
        #expect(places.map { $0.prefix { $0 != " " } } == ["A.swift:6:", "A.swift:3:", "A.swift:4:"].map { "Sources/A/" + $0 }, "\(places)")
        #expect(places.map { $0.contains(" differs: ") } == [false, true, true])
    }

    @Test(
        "finds what the manifest calls its package, and the manifest that the toolchain selects",
        arguments: [
            "var pkg: Package = .init(name: \"p\")\npkg.targets += [\"A\"].map { Target.target(name: $0) }\n",
            "let names = [\"A\"]\nlet thePackage = Package(\n    name: \"p\",\n    targets: names.map { .target(name: $0) }\n)\n",
            "// let old = Package(name: \"x\")\nlet package: Package = Package(name: \"p\", targets: [.target(name: \"A\")])",
        ])
    func manifests(text: String) throws {
        let header = "// swift-tools-version: 5.9\nimport PackageDescription\n"
        let package = try Package([
            "Package.swift": "// swift-tools-version:5.3\nimport PackageDescription\nlet old = Package(name: \"p\")\n",
            "Package@swift-5.9.swift": header + text, "Package@swift-99.swift": header + "let other = Package(name: \"other\")\n",
            "Sources/A/A.swift": Self.source,
        ])
        let before = package.contents
        #expect(try package.adopt().lines.last == "Package@swift-5.9.swift")
        // The package manager understands what was written.
        let dump = Command("/usr/bin/env", ["swift", "package", "--package-path", package.path, "dump-package"])
        let described = try String(decoding: dump.run().output, as: UTF8.self)
        #expect(described.contains("\"OverdriveDispatch\""), "\(described)")
        try Adoption.undo(package.path, changes: true) { _ in }
        #expect(package.contents == before)
    }

    @Test("passes over a manifest for an older toolchain where Package.swift asks for newer tools, as the toolchain does", arguments: ["", "\n"])
    func olderManifest(start: String) throws {
        let header = start + "// swift-tools-version:5.5\nimport PackageDescription\n"
        let package = try Package([
            "Package.swift": header + "let package = Package(name: \"p\", targets: [.target(name: \"A\")])\n",
            "Package@swift-5.4.swift": "// swift-tools-version:5.4\nimport PackageDescription\nlet old = Package(name: \"p\")\n",
            "Sources/A/A.swift": Self.source,
        ])
        #expect(try package.adopt().lines.last == "Package.swift")
        let dump = Command("/usr/bin/env", ["swift", "package", "--package-path", package.path, "dump-package"])
        let described = try String(decoding: dump.run().output, as: UTF8.self)
        #expect(described.contains("\"OverdriveDispatch\""), "\(described)")
    }

    @Test("takes the manifest for every 6 before the one for 6.0, which the toolchain is too new for")
    func manifestForThisToolchain() throws {
        let header = "// swift-tools-version:5.5\nimport PackageDescription\n"
        let package = try Package([
            "Package.swift": header + "let plain = Package(name: \"p\")\n",
            "Package@swift-6.0.swift": "// swift-tools-version:6.0\nimport PackageDescription\nlet old = Package(name: \"p\")\n",
            "Package@swift-6.swift": header + "let package = Package(name: \"p\", targets: [.target(name: \"A\")])\n",
            "Sources/A/A.swift": Self.source,
        ])
        #expect(try package.adopt().lines.last == "Package@swift-6.swift")
    }

    @Test("leaves what it cannot move as it is, with one sentence")
    func refusals() throws {
        let own = try Package([
            "Package.swift": Self.manifest, "Sources/A/A.swift": Self.source, "Sources/B/B.swift": "",
            "Sources/C/C.swift": "enum Space { struct Operation {} }\n\npublic final class OperationQueue {}\n",
        ])
        let before = own.contents
        #expect(try own.refusal() == "PATH/Sources/C/C.swift:3: the target defines a type named OperationQueue, so nothing was changed")
        #expect(own.contents == before)
        let nameless = try Package([
            "Package.swift": "// swift-tools-version: 5.9\nimport PackageDescription\n_ = Package(name: \"p\", targets: [.target(name: \"A\")])\n",
            "Sources/A/A.swift": Self.source,
        ])
        #expect(
            try nameless.refusal()
                == "PATH/Package.swift does not store its Package(…) in a variable: write `let package = Package(…)` first")
        let unused = try Package([
            "Package.swift": "// swift-tools-version: 5.9\nimport PackageDescription\nlet package = Package(name: \"p\", targets: [.target(name: \"A\")])\n",
            "Sources/A/A.swift": "let number = 1\n",
        ])
        #expect(try unused.refusal().hasPrefix("no target of PATH uses a queue"))
        let empty = try Package(["README": ""])
        #expect(try empty.refusal() == "PATH has no readable Package.swift")
    }

    @Test("leaves a package that does not build as it is, and says why")
    func broken() throws {
        let package = try Package([
            "Package.swift": "// swift-tools-version: 5.9\nimport PackageDescription\nlet package = Package(name: \"p\", targets: [.target(name: \"A\")])\n",
            "Sources/A/A.swift": Self.source + "let number: Int = \"one\"\n",
        ])
        let before = package.contents
        let sentence = try package.refusal(builds: true)
        #expect(sentence.hasPrefix("PATH does not build as it is, so nothing was changed: PATH/Sources/A/A.swift:3: "))
        #expect(package.contents == before)
    }

    @Test("leaves a package whose manifest cannot be read as it is, and says why")
    func unreadable() throws {
        let package = try Package(["Package.swift": Self.manifest + "\nlet\n", "Sources/A/A.swift": Self.source])
        let before = package.contents
        #expect(try package.refusal().hasPrefix("the manifest of PATH cannot be read: "))
        #expect(package.contents == before)
    }

    @Test("builds before and after, and each new error is a line with its place")
    func newErrors() throws {
        // Stands for Overdrive, and lacks what the package uses.
        let types = AliasFile.types.map { type in
            let members = type == "DispatchQueue" ? "public init(label: String) {}" : ""
            return "open class \(type)\(type == "DispatchSpecificKey" ? "<T>" : "") { \(members) }\n"
        }
        let both = try Package([
            "overdrive/Package.swift": """
                // swift-tools-version: 5.9
                import PackageDescription
                let package = Package(
                    name: "overdrive", products: [.library(name: "OverdriveDispatch", targets: ["OverdriveDispatch"])],
                    targets: [.target(name: "OverdriveDispatch")])
                """,
            "overdrive/Sources/OverdriveDispatch/All.swift": types.joined() + """
                public func dispatchMain() -> Never { fatalError() }
                public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}
                public func dispatchPrecondition(
                    condition: @autoclosure () -> DispatchPredicate, file: StaticString, line: UInt) {}
                """,
            "p/Package.swift": """
                // swift-tools-version: 5.9
                import PackageDescription
                let package = Package(name: "p", targets: [.target(name: "A")])
                """,
            "p/Sources/A/A.swift": Self.source + "public func hold() { queue.suspend() }\n",
        ])
        let package = both.path + "/p"
        let source = try #require(Files.read(package + "/Sources/A/A.swift"))
        let manifest = try #require(Files.read(package + "/Package.swift"))
        var lines: [String] = []
        let adoption = Adoption(source: .path(both.path + "/overdrive"))
        #expect(try !adoption.adopt(package) { lines.append($0.replacing(package + "/", with: "")) })
        #expect(lines.count == 3)
        #expect(lines.last == "Sources/A/A.swift:3: value of type 'DispatchQueue' has no member 'suspend'")
        try Adoption.undo(package, changes: true) { _ in }
        #expect(Files.read(package + "/Sources/A/A.swift") == source)
        #expect(Files.read(package + "/Package.swift") == manifest)
        #expect(Files.read(package + "/Sources/A/" + AliasFile.name) == nil)
    }

    @Test(
        "names what stays, with its line",
        arguments: [
            ("dispatch_async(queue) {}", "the C functions"),
            ("center.addObserver(forName: n, object: nil, queue: .main) { _ in }", "NotificationCenter"),
            ("URLSession(configuration: .default, delegate: nil, delegateQueue: queue)", "URLSession"),
            ("session.delegateQueue.underlyingQueue = queue", "URLSession"),
            ("group.shutdownGracefully(queue: queue) { _ in }", "NIO"),
            ("DispatchData(bytesNoCopy: b, deallocator: .custom(queue, {}))", "DispatchData"),
            ("let queue = Foundation.OperationQueue()", "the module's name is spelled out"),
        ])
    func walls(code: String, reason: String) {
        let walls = Wall.all(in: "\n" + code, file: "F.swift")
        #expect(walls.count == 1 && walls[0].line.hasPrefix("F.swift:2: \(reason)"), "\(walls)")
        #expect(Wall.all(in: Source.withoutComments("/* \(code) */ // \(code)\nlet a = \"\(code.replacing("\"", with: ""))\""), file: "F").isEmpty)
    }

    @Test("passes over what takes no queue")
    func noWalls() {
        for code in [
            "addObserver(forName: n, object: nil, queue: nil) {}", "delegateQueue: nil", "queue.async {}",
            "let dispatch_queue = 1", "DispatchTime.now()",
        ] {
            #expect(Wall.all(in: code, file: "F").isEmpty, "\(code)")
        }
    }
}
#endif
