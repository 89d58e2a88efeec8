// Owns the description of a package that `overdrive adopt` changes: its manifest, targets and sources. `Adoption`
// calls it. It never writes a file.

#if CLI
internal import FoundationEssentials

/// A package as the toolchain describes it.
struct AdoptablePackage {
    let path: String
    let manifestPath: String
    private let described: Description

    /// The required part of the output of `swift package dump-package`.
    private struct Description: Decodable {
        let toolsVersion: Version
        let targets: [Target]

        struct Version: Decodable {
            let _version: String
        }

        struct Target: Decodable {
            let name: String
            let type: String
            let path: String?
            let sources: [String]?
            let exclude: [String]?
            let dependencies: [Dependency]
        }

        /// A dependency on a target; nil for a product.
        struct Dependency: Decodable {
            let target: String?

            private struct Key: CodingKey {
                let stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                var name: String?
                for key in ["byName", "target"] {
                    if var list = try? container.nestedUnkeyedContainer(forKey: Key(stringValue: key)) {
                        name = try? list.decode(String.self)
                    }
                }
                target = name
            }
        }
    }

    init(_ path: String) throws(Refusal) {
        self.path = path
        guard Files.read(path + "/Package.swift") != nil else {
            throw Refusal("\(path) has no readable Package.swift")
        }
        let dump = Command.run(["swift", "package", "--package-path", path, "dump-package"])
        guard dump.status == 0, let start = dump.output.firstIndex(of: UInt8(ascii: "{")) else {
            throw Refusal("the manifest of \(path) cannot be read: \(dump.summary)")
        }
        do {
            described = try JSONDecoder().decode(Description.self, from: Data(dump.output[start...]))
        } catch {
            throw Refusal("the output of `swift package dump-package` for \(path) cannot be parsed: \(error)")
        }
        manifestPath = path + "/" + AdoptablePackage.selectedManifest(in: path)
    }

    /// Returns the manifest that the toolchain uses. A manifest for exactly this version comes first. Otherwise the
    /// newest suitable `Package@swift-….swift` is used, if it requires newer tools than `Package.swift`, or if
    /// `Package.swift` is too new.
    private static func selectedManifest(in path: String) -> String {
        let version = Command.run(["swift", "--version"])
        let words = String(decoding: version.output, as: UTF8.self)
        guard let match = words.firstMatch(of: #/Swift version (\d+)\.(\d+)(?:\.(\d+))?/#) else { return "Package.swift" }
        let toolchain = [Int(match.1) ?? 0, Int(match.2) ?? 0, match.3.flatMap { Int($0) } ?? 0]
        var best: (version: [Int], name: String)?
        func isMadeForThis(_ version: [Int]) -> Bool { Array(toolchain.prefix(version.count)) == version }
        for name in Files.names(in: path) {
            guard let match = name.wholeMatch(of: #/Package@swift-(\d+)(?:\.(\d+))?(?:\.(\d+))?\.swift/#) else { continue }
            let parts = [match.1, match.2 ?? "", match.3 ?? ""].compactMap { Int($0) }
            // `Package@swift-5` applies to every version 5.
            let isForThis = isMadeForThis(parts)
            guard isForThis || parts.lexicographicallyPrecedes(toolchain) else { continue }
            if let best {
                let bestIsForThis = isMadeForThis(best.version)
                guard isForThis == bestIsForThis ? !parts.lexicographicallyPrecedes(best.version) : isForThis else { continue }
            }
            best = (parts, name)
        }
        let plain = "Package.swift"
        guard let best else { return plain }
        func tools(_ name: String) -> [Int] { toolsVersion(ofManifest: path + "/" + name) }
        let isWanted =
            isMadeForThis(best.version) || tools(plain).lexicographicallyPrecedes(tools(best.name))
            || toolchain.lexicographicallyPrecedes(tools(plain))
        return isWanted ? best.name : plain
    }

    private static func toolsVersion(ofManifest path: String) -> [Int] {
        let first = (Files.read(path) ?? "").drop(while: \.isWhitespace).prefix { !$0.isNewline }
        let match = first.firstMatch(of: #/(?i)swift-tools-version:\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?/#)
        return [match?.1, match?.2, match?.3].map { part in part.flatMap { Int($0) } ?? 0 }
    }

    /// Returns a file that marks the package as adopted; nil if there is none.
    func markedFile() -> String? {
        if let text = Files.read(manifestPath), ManifestBlock.removed(from: text) != nil { return manifestPath }
        return described.targets.lazy.map { self.directory(of: $0) + "/" + AliasFile.name }.first { Files.read($0) != nil }
    }

    /// Returns the manifest with the added block.
    func adoptedManifest(targets: [AdoptedTarget], from source: PackageSource) throws(Refusal) -> String {
        guard let text = Files.read(manifestPath) else { throw Refusal("\(manifestPath) cannot be read") }
        let tools = described.toolsVersion._version.split(separator: ".").compactMap { Int($0) }
        guard let new = ManifestBlock.added(to: text, targets: targets.map(\.name), from: source, tools: tools) else {
            throw Refusal("\(manifestPath) does not store its Package(…) in a variable: write `let package = Package(…)` first")
        }
        return new
    }

    /// Returns the targets that use one of the types, and their dependents, in which the names would be ambiguous.
    func targetsToAdopt() throws(Refusal) -> [AdoptedTarget] {
        var adopted: [AdoptedTarget] = []
        var names: Set<String> = []
        var others: [(Description.Target, String, [String])] = []
        for target in described.targets where ["regular", "executable", "test"].contains(target.type) {
            let directory = directory(of: target)
            let files = files(of: target, in: directory)
            guard !files.isEmpty else { continue }
            let uses = try usesTypes(files)
            if uses {
                adopted.append(make(target, directory, files))
                names.insert(target.name)
            } else {
                others.append((target, directory, files))
            }
        }
        var grows = true
        while grows {
            grows = false
            for (target, directory, files) in others
            where !names.contains(target.name) && target.dependencies.contains(where: { names.contains($0.target ?? "") }) {
                adopted.append(make(target, directory, files))
                names.insert(target.name)
                grows = true
            }
        }
        return adopted
    }

    private func usesTypes(_ files: [String]) throws(Refusal) -> Bool {
        var uses = false
        for file in files {
            guard let text = Files.read(file) else { continue }
            let code = Source.withoutComments(text)
            guard !Source.words(AliasFile.types, in: code).isEmpty else { continue }
            uses = true
            for declared in Source.topLevelTypes(of: code) where AliasFile.types.contains(declared.name) {
                throw Refusal("\(file):\(declared.line): the target defines a type named \(declared.name), so nothing was changed")
            }
        }
        return uses
    }

    private func make(_ target: Description.Target, _ directory: String, _ files: [String]) -> AdoptedTarget {
        // If the manifest lists the sources, the new file must be among them.
        let listed = target.sources?.first.map { directory + "/" + $0 }
        let place = listed.flatMap { $0.hasSuffix(".swift") ? nil : $0 } ?? directory
        return AdoptedTarget(
            name: target.name, file: place + "/" + AliasFile.name,
            aliases: AliasFile.text(isPublic: target.type == "regular"),
            walls: files.flatMap { file in
                Wall.all(in: Source.withoutComments(Files.read(file) ?? ""), file: file)
            },
            differences: files.flatMap { file in
                Wall.differences(in: Source.withoutComments(Files.read(file) ?? ""), file: file)
            })
    }

    private func directory(of target: Description.Target) -> String {
        if let given = target.path { return given.hasPrefix("/") ? given : path + "/" + given }
        let places = target.type == "test" ? ["Tests", "Sources", "Source", "src", "srcs"] : ["Sources", "Source", "src", "srcs"]
        for place in places where Files.isDirectory(path + "/\(place)/\(target.name)") {
            return path + "/\(place)/\(target.name)"
        }
        return path + "/" + (target.type == "test" ? "Tests" : "Sources")
    }

    private func files(of target: Description.Target, in directory: String) -> [String] {
        let all = (try? Files.sources(below: directory)) ?? []
        let excluded = (target.exclude ?? []).map { directory + "/" + $0 }
        let included = (target.sources ?? []).map { directory + "/" + $0 }
        func isIn(_ file: String, _ places: [String]) -> Bool {
            places.contains { file == $0 || file.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
        }
        return all.filter { !isIn($0, excluded) && (included.isEmpty || isIn($0, included)) }
    }
}

/// A target that gets a file of aliases.
struct AdoptedTarget {
    let name: String
    let file: String
    let aliases: String
    let walls: [Wall]
    let differences: [Wall]
}
#endif
