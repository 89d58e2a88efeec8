import Foundation
import Testing

/// Every piece of code in the guide compiles.
@Suite("The guide's code", .serialized)
struct SnippetTests {
    private static let guide = ClientTests.package.appendingPathComponent("Sources/Overdrive/Overdrive.docc")

    private static let articles =
        ((try? FileManager.default.contentsOfDirectory(atPath: guide.path)) ?? []).filter { $0.hasSuffix(".md") }.sorted()

    @Test("is there")
    func there() {
        #expect(Self.articles.count >= 9)
    }

    @Test("compiles, article by article", arguments: articles)
    func compiles(article: String) throws {
        let text = try String(contentsOf: Self.guide.appendingPathComponent(article), encoding: .utf8)
        var source = prelude
        var (isCode, number) = (false, 0)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isCode = line == "```swift"
                number += isCode ? 1 : 0
                source += isCode ? "\n@MainActor func snippet\(number)() async throws {\n" : line == "```" ? "\n}\n" : ""
            } else if isCode {
                source += line + "\n"
            }
        }
        let said = try Typecheck.errors(in: source).split(separator: "\n").filter { $0.contains("error: ") }
        #expect(said == [], "\(said.joined(separator: "\n"))")
        if article != "Overdrive.md" { #expect(number > 0) }
    }

    /// What the guide's code takes for granted.
    private let prelude = """
        import Foundation
        import Dispatch
        import Overdrive

        struct Image: Sendable { init?(data: Data) {} }
        struct Issue: Sendable {}
        struct NetworkError: Error {}
        struct Offline: Error {}
        func fetchData(_ url: URL) throws -> Data { Data() }
        func fetchLater(_ url: URL) async throws -> Data { Data() }
        func resize(_ image: Data) -> Data { image }
        func isOnline() async -> Bool { true }
        func show(_ something: Any) {}
        let url = URL(fileURLWithPath: "/")
        let queue = TaskQueue()
        final class Request: Sendable { func cancel() {} }
        final class Client: Sendable {
            var cached: [Issue] { [] }
            func issues(_ body: @escaping @Sendable (Result<[Issue], any Error>) -> Void) -> Request { Request() }
        }
        let client = Client()
        final class GetLogoTask: Task<Image>, @unchecked Sendable {
            override func run() { finish(with: .error(NetworkError())) }
        }

        """
}

/// Every piece of code in the guide to apps compiles.
@Suite("The app guide's code", .serialized)
struct AppSnippetTests {
    private static let guide = ClientTests.package.appendingPathComponent("Sources/OverdriveApp/OverdriveApp.docc")

    private static let articles =
        ((try? FileManager.default.contentsOfDirectory(atPath: guide.path)) ?? []).filter { $0.hasSuffix(".md") }.sorted()

    @Test("compiles, article by article", arguments: articles)
    func compiles(article: String) throws {
        let text = try String(contentsOf: Self.guide.appendingPathComponent(article), encoding: .utf8)
        // Each piece in a scope of its own: in a type's, a local type could not inherit from a class that it names itself.
        var (source, pieces) = (prelude, 0)
        for piece in text.components(separatedBy: "```swift\n").dropFirst() {
            pieces += 1
            source += "func piece\(pieces)() async throws {\n\(piece.components(separatedBy: "\n```")[0])\n}\n"
        }
        let said = try Typecheck.errors(in: source).split(separator: "\n").filter { $0.contains("error: ") }
        // The one article whose product stands behind a trait has a package that uses it: Tests/ServiceLifecycle.
        #expect(said == [] && (pieces > 0 || article == "ServiceLifecycle.md"), "\(said.joined(separator: "\n"))")
    }

    @Test("is there")
    func there() {
        #expect(Self.articles.count >= 7)
    }

    /// What the guide's code takes for granted.
    private let prelude = """
        import OverdriveApp

        struct Database: Sendable {
            func connect() async throws {}
            func close() async throws {}
            func migrate() async throws {}
        }
        struct Store: Sendable { init(_ database: Database) {} }
        struct Letter: Sendable {}
        protocol Mailer: Sendable { func send(_ letter: Letter) }
        struct SMTPMailer: Mailer { func send(_ letter: Letter) {} }
        struct SilentMailer: Mailer { func send(_ letter: Letter) {} }
        struct OnboardingNavigator: Sendable { func navigate(completion: @escaping @Sendable () -> Void) { completion() } }
        struct StorageServices: ServiceProvider {}
        let database = Database()
        func connect(_ done: @escaping @Sendable ((any Error)?) -> Void) { done(nil) }
        func warmUp() async throws {}
        func flush() async {}
        func flushAll() {}
        func letGo() {}
        func read(_ file: String) {}
        func show(_ something: Any) {}

        """
}

/// Every piece of code in the articles of the core compiles.
@Suite("The articles' code", .serialized)
struct ArticleTests {
    private static let folder = ClientTests.package.appendingPathComponent("Sources/OverdriveCore/OverdriveCore.docc")

    private static let articles =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasSuffix(".md") }.sorted()

    @Test("is there")
    func there() {
        #expect(Self.articles.count >= 13)
    }

    @Test("compiles, article by article", arguments: articles)
    func compiles(article: String) throws {
        let text = try String(contentsOf: Self.folder.appendingPathComponent(article), encoding: .utf8)
        var pieces: [String] = []
        var piece: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```swift" {
                piece = ""
            } else if line == "```" {
                if let piece { pieces.append(piece) }
                piece = nil
            } else if !line.hasPrefix("import ") {
                piece? += line + "\n"
            }
        }
        #expect(!pieces.isEmpty)
        var source = prelude
        // Where nothing suspends, the forms of queues that block are meant.
        for (number, piece) in pieces.enumerated() {
            if piece.hasPrefix("func ") {
                source += piece
                continue
            }
            let effects = piece.contains("await ") ? "async throws" : "throws"
            source += "\nfunc piece\(number)() \(effects) {\n\(variables)\(piece)}\n"
        }
        let said = try Typecheck.errors(in: source).split(separator: "\n").filter { $0.contains("error: ") }
        #expect(said == [], "\(said.joined(separator: "\n"))")
    }

    /// What the articles' code takes for granted.
    private let prelude = """
        import OverdriveCore
        import OverdriveTerminal

        struct Vector: Sendable { func norm() -> Double { 1 } }
        struct Particle: Sendable { var depth = 0.0 }
        struct Frame: Sendable {}
        func shade(_ x: Int, _ y: Int) -> Float { Float(x * y) }
        func insertionSort(_ span: inout MutableSpan<Int>) {}
        func merge(_ span: inout MutableSpan<Int>, at middle: Int) {}
        func decode(_ number: Int) throws -> Frame { Frame() }
        func blur(_ row: Int, using line: inout [Float]) {}
        func check(_ number: Int) {}
        func render(_ page: Int) {}
        func write(_ page: Int) {}
        func index(_ file: String) {}
        func append(_ line: String) {}
        func readSlowly(_ file: String) -> String { file }
        func load() async -> Int { 1 }
        func show(_ something: Any) {}
        let files: [String] = []
        let (width, height, count, rows, n) = (8, 8, 100, 8, 8)
        let vectors: [Vector] = []
        let (token, progress) = (CancellationToken(), Parallel.Progress())
        let (a, b) = ([Double](repeating: 1, count: 64), [Double](repeating: 1, count: 64))

        """

    private let variables = """
        var numbers = [3, 1, 2]
        var particles = [Particle(), Particle()]
        (numbers, particles) = (numbers, particles)

        """
}

/// Every row of the table of differences has code that compiles.
@Suite("The table of differences")
struct DifferenceTests {
    @Test("has code that compiles in each row")
    func compiles() throws {
        let text = try String(contentsOf: ClientTests.package.appendingPathComponent("docs/differences.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.components(separatedBy: " | ") }
        var source = prelude
        for (number, row) in rows.enumerated() {
            #expect(row.count == 5 && row[1].hasPrefix("`") && row[1].hasSuffix("`"), "\(row)")
            source += "func row\(number)() {\n\(row[1].dropFirst().dropLast())\n}\n"
        }
        let said = try Typecheck.errors(in: source).split(separator: "\n").filter { $0.contains("error: ") }
        #expect(rows.count > 30 && said == [], "\(said.joined(separator: "\n"))")
    }

    /// Declarations that the code of the rows uses.
    private let prelude = """
        import Overdrive

        let queue = TaskQueue()
        let item = WorkItem {}
        let key = TaskQueue.SpecificKey<Int>()
        let task = Task.inline {}
        let other = Task.inline {}

        """
}

/// The program at the beginning of README.md compiles as it stands. Examples/check runs it.
@Suite("The README's program")
struct ReadmeTests {
    @Test("compiles")
    func compiles() throws {
        let text = try String(contentsOf: ClientTests.package.appendingPathComponent("README.md"), encoding: .utf8)
        let program = try #require(text.split(separator: "```swift\n").dropFirst().first?.split(separator: "```").first)
        #expect(program.contains("import OverdriveCore") && program.contains("Parallel.map"))
        let errors = try Typecheck.errors(in: String(program))
        #expect(errors == "", "\(errors)")
    }

    @Test("is the file that Examples/check builds and runs")
    func isExample() throws {
        let package = ClientTests.package
        let text = try String(contentsOf: package.appendingPathComponent("README.md"), encoding: .utf8)
        let example = try String(contentsOf: package.appendingPathComponent("Examples/Sources/readme/main.swift"), encoding: .utf8)
        #expect(text.contains("```swift\n\(example)```"))
    }

    @Test("has at most 180 lines")
    func length() throws {
        let text = try String(contentsOf: ClientTests.package.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 181)
    }
}

/// Every piece of code in the page of OverdriveTesting compiles.
@Suite("The code of the page of OverdriveTesting")
struct TestingSnippetTests {
    @Test("compiles")
    func compiles() throws {
        let page = ClientTests.package.appendingPathComponent("Sources/OverdriveTesting/OverdriveTesting.docc/OverdriveTesting.md")
        let pieces = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
        let source = (["import OverdriveCore", "import OverdriveTesting"] + pieces).joined(separator: "\n")
        let said = try Typecheck.errors(in: source).split(separator: "\n").filter { $0.contains("error: ") }
        #expect(said == [] && pieces.count == 3, "\(said.joined(separator: "\n"))")
    }
}
