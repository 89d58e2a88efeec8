#if CLI
/// The result of a build of a package with its tests.
struct Build {
    let succeeded: Bool
    /// The distinct errors of the compiler: `file:line: sentence`.
    let errors: [String]
    let summary: String

    static func run(in path: String) -> Build {
        let result = Command.run(["swift", "build", "--package-path", path, "--build-tests"])
        var seen: Set<String> = []
        var errors: [String] = []
        for line in String(decoding: result.output, as: UTF8.self).split(separator: "\n") {
            guard let match = line.prefixMatch(of: #/(/.+?\.swift:\d+):\d+: error: (.+)/#) else { continue }
            let error = "\(match.1): \(match.2)"
            if seen.insert(error).inserted { errors.append(error) }
        }
        return Build(succeeded: result.status == 0, errors: errors, summary: result.summary)
    }
}
#endif
