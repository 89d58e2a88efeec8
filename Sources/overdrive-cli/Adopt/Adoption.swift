#if CLI
internal import FoundationEssentials

/// The reason why a package was not changed, in one sentence.
struct Refusal: Error {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

/// Runs `overdrive adopt` for a package.
struct Adoption {
    /// The location of the drop-in types, for the manifest.
    var source: PackageSource
    var changes = true
    var builds = true

    /// Adopts the package at `path`, and reports the changes and the remaining work.
    ///
    /// - Returns: Whether no manual work remains.
    func adopt(_ path: String, say: (String) -> Void) throws(Refusal) -> Bool {
        let package = try AdoptablePackage(path)
        if let marked = package.markedFile() {
            throw Refusal("\(marked) exists, so \(path) is already adopted; use --undo to reverse it")
        }
        let targets = try package.targetsToAdopt()
        guard !targets.isEmpty else {
            throw Refusal("no target of \(path) uses a queue, a group or an operation, so there is nothing to adopt")
        }
        let manifest = try package.adoptedManifest(targets: targets, from: source)
        for target in targets { say("\(changes ? "" : "would write ")\(target.file)") }
        say("\(changes ? "" : "would add a block to ")\(package.manifestPath)")
        let walls = targets.flatMap(\.walls)
        guard changes else {
            for wall in walls + targets.flatMap(\.differences) { say(wall.line) }
            return walls.isEmpty
        }
        var before: Set<String> = []
        if builds {
            let result = Build.run(in: path)
            guard result.succeeded else {
                throw Refusal(
                    "\(path) does not build as it is, so nothing was changed: \(result.errors.first ?? "swift build failed")")
            }
            before = Set(result.errors)
        }
        for target in targets { try Files.write(target.aliases, to: target.file) }
        try Files.write(manifest, to: package.manifestPath)
        for wall in walls { say(wall.line) }
        guard builds else { return walls.isEmpty }
        let after = Build.run(in: path)
        let new = after.errors.filter { !before.contains($0) }
        for error in new { say(error) }
        if !after.succeeded, new.isEmpty { say("the package no longer builds: \(after.summary)") }
        return walls.isEmpty && after.succeeded
    }

    /// Removes exactly the text that ``adopt(_:say:)`` wrote.
    static func undo(_ path: String, changes: Bool, say: (String) -> Void) throws(Refusal) {
        var found = false
        for file in try Files.sources(below: path) {
            guard let text = Files.read(file) else { continue }
            if text.hasPrefix(AliasFile.mark) {
                found = true
                say("\(changes ? "removed" : "would remove") \(file)")
                if changes { try Files.remove(file) }
            } else if let rest = ManifestBlock.removed(from: text) {
                found = true
                say("\(changes ? "removed the block from" : "would remove the block from") \(file)")
                if changes { try Files.write(rest, to: file) }
            }
        }
        if !found { throw Refusal("\(path) is not adopted, so there is nothing to undo") }
    }
}
#endif
