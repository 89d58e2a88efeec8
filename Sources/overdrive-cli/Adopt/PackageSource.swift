#if CLI
/// The location of the Overdrive package for an adopting package.
enum PackageSource {
    case path(String)
    case url(String)

    init(_ text: String, absolute: (String) -> String) {
        self = text.contains("://") || text.hasPrefix("git@") ? .url(text) : .path(absolute(text))
    }

    /// The package's name in a manifest: the last component of the path, without `.git`.
    var identity: String {
        let text =
            switch self {
            case .path(let path): path
            case .url(let url): url
            }
        let last = text.split(separator: "/").last.map(String.init) ?? text
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    /// Returns the dependency as Swift code, for manifests of these tools or later.
    func dependency(tools: [Int]) -> String {
        switch self {
        case .path(let path): ".package(path: \(path.debugDescription))"
        case .url(let url):
            tools.lexicographicallyPrecedes([5, 6])
                ? ".package(url: \(url.debugDescription), .branch(\"main\"))"
                : ".package(url: \(url.debugDescription), branch: \"main\")"
        }
    }
}
#endif
