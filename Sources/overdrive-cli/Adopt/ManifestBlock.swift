#if CLI
/// The lines that are added after `Package(…)` in the manifest of an adopted package.
enum ManifestBlock {
    private static let begin = "// overdrive adopt: begin"
    private static let end = "// overdrive adopt: end\n"
    /// Marks that the manifest's last line had no line feed, so that undoing restores every byte.
    private static let withoutLineEnd = " (the line before had no end)"

    /// Returns the manifest with the block; nil if no variable holds the package.
    static func added(
        to manifest: String, targets: [String], from source: PackageSource, tools: [Int]
    ) -> String? {
        guard let name = packageVariable(in: manifest) else { return nil }
        let isComplete = manifest.isEmpty || manifest.hasSuffix("\n")
        let names = targets.map(\.debugDescription).joined(separator: ", ")
        return manifest + (isComplete ? "" : "\n") + """
            \(begin)\(isComplete ? "" : withoutLineEnd)
            // These targets' queues and operations are Overdrive's. `overdrive adopt --undo` removes these lines.
            \(name).dependencies.append(\(source.dependency(tools: tools)))
            for target in \(name).targets where [\(names)].contains(target.name) {
                target.dependencies.append(.product(name: "OverdriveDispatch", package: "\(source.identity)"))
            }
            \(end)
            """
    }

    /// Returns the manifest without the block; nil if there is no block.
    static func removed(from manifest: String) -> String? {
        guard let start = manifest.firstRange(of: begin),
            start.lowerBound == manifest.startIndex || manifest[manifest.index(before: start.lowerBound)] == "\n",
            let stop = manifest[start.upperBound...].firstRange(of: end)
        else { return nil }
        var before = manifest[..<start.lowerBound]
        if manifest[start.upperBound...].hasPrefix(withoutLineEnd) { before = before.dropLast() }
        return String(before) + String(manifest[stop.upperBound...])
    }

    /// Returns the name of the variable that holds the `Package(…)`.
    private static func packageVariable(in manifest: String) -> String? {
        let code = Source.withoutComments(manifest)
        let declaration = #/(?m)^\s*(?:let|var)\s+(\w+)\s*(?::\s*(?:PackageDescription\.)?Package\s*=\s*(?:\.init|(?:PackageDescription\.)?Package(?:\.init)?)|=\s*(?:PackageDescription\.)?Package(?:\.init)?)\s*\(/#
        return code.firstMatch(of: declaration).map { String($0.1) }
    }
}
#endif
