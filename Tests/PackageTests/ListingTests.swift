import Foundation
import Testing

/// The code in the documentation comments of the public API compiles: one compiler run for all listings.
///
/// The products behind a trait are missing here. Their packages, Tests/Observability and Tests/ServiceLifecycle, use them.
@Suite("The listings of documentation comments")
struct ListingTests {
    @Test("every_listing_of_a_public_declaration_compiles")
    func compile() throws {
        var sources: [String] = []
        var number = 0
        for (module, stubs) in ListingStubs.files {
            var source = stubs
            for listing in try Listing.all(in: module) {
                number += 1
                source += "\n" + listing.declaration(number)
            }
            sources.append(source)
        }
        #expect(number >= 200)
        let errors = try Typecheck.errors(inModule: sources)
        #expect(errors == "", "\(errors)")
    }
}

/// The code of one documentation comment: its indented lines.
private struct Listing {
    let file: String
    let line: Int
    var lines: [Substring] = []

    /// The lines without imports: the stubs have those.
    private var ownLines: [Substring] { lines.filter { !$0.hasPrefix("import ") } }

    private var code: String {
        ownLines.joined(separator: "\n").replacing("…", with: "fatalError()")
    }

    /// The listings in the comments of a module's public declarations.
    static func all(in module: String) throws -> [Listing] {
        let folder = ClientTests.package.appendingPathComponent("Sources/\(module)")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }.sorted()
        return try names.flatMap { name in
            try listings(in: String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8), "Sources/\(module)/\(name)")
        }
    }

    private static func listings(in text: String, _ file: String) -> [Listing] {
        var found: [Listing] = []
        var (comment, current): ([Listing], Listing?) = ([], nil)
        var isAfterBlank = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.drop { $0 == " " }
            if trimmed.hasPrefix("///") {
                let words = trimmed.dropFirst(3)
                let isBlank = words.allSatisfy { $0 == " " }
                if words.hasPrefix("     "), current != nil || isAfterBlank {
                    if current == nil { current = Listing(file: file, line: index + 1) }
                    current?.lines.append(words.dropFirst(5))
                } else if isBlank {
                    current?.lines.append("")
                } else if let listing = current.take() {
                    comment.append(listing)
                }
                isAfterBlank = isBlank
            } else if !trimmed.isEmpty, !trimmed.hasPrefix("//"), !isAttribute(trimmed) {
                let isPublic = trimmed.contains("public ") || trimmed.contains("open ") || trimmed.hasPrefix("extension ")
                if isPublic { found += comment + (current.map { [$0] } ?? []) }
                (comment, current) = ([], nil)
            }
        }
        return found
    }

    /// A line that only holds attributes.
    private static func isAttribute(_ line: Substring) -> Bool {
        line.hasPrefix("@") && !line.contains("public ") && !line.contains("open ") && !line.contains("package ")
    }

    /// The code as a declaration of its own, with the stubs of its file or of its first line.
    func declaration(_ number: Int) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        let stubs = ListingStubs.locals["\(name):\(lines[0])"] ?? ListingStubs.locals[name] ?? ""
        let first = ownLines.first { !$0.isEmpty } ?? ""
        let isValue = first.hasPrefix("[")
        let code = "#sourceLocation(file: \"\(file)\", line: \(line))\n\(isValue ? "_ = " : "")\(code)\n#sourceLocation()"
        let effects = code.contains("await ") || code.contains("async let ") ? "async throws" : "throws"
        let isMember = ["static ", "func ", "@main", "private "].contains { first.hasPrefix($0) }
        if isMember {
            return "private final class Listing\(number): @unchecked Sendable {\n\(stubs)\n\(code)\n}\n"
        }
        let body = stubs.contains("LISTING") ? stubs.replacing("LISTING", with: code) : "\(stubs)\ndo {\n\(code)\n}"
        return "private func listing\(number)() \(effects) {\n\(body)\n}\n"
    }
}
