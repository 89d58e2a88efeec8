#if CLI
/// Where a package that adopts Overdrive gets it from.
enum PackageSource {
    case path(String)
    case url(String)

    init(_ text: String, absolute: (String) -> String) {
        self = text.contains("://") || text.hasPrefix("git@") ? .url(text) : .path(absolute(text))
    }

    /// By which a manifest names it: the last part of the path, without `.git`.
    var identity: String {
        let text =
            switch self {
            case .path(let path): path
            case .url(let url): url
            }
        let last = text.split(separator: "/").last.map(String.init) ?? text
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    /// The dependency as Swift, in a manifest of these tools or later.
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
