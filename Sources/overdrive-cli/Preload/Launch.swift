internal import Glibc

/// Replaces this process by a program with Overdrive preloaded.
struct Launch {
    var words: [Bytes]
    /// The library; nil to search beside this command and in the output of `scripts/build-preload`.
    var library: Bytes?

    static let libraryName = "liboverdrive-preload.so"

    /// Starts the program. Returns only after a failure, with the reason in a sentence.
    func run() -> String {
        guard let library = library ?? Launch.nearLibrary else {
            return "\(Launch.libraryName) is not beside this command: build it with scripts/build-preload, or name it with --library"
        }
        guard access(library) else {
            return "\(Launch.printed(library)) cannot be read: build it with scripts/build-preload"
        }
        guard !library.contains(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") }) else {
            return "\(Launch.printed(library)) has a space or a colon in its path, where LD_PRELOAD would cut it: move it elsewhere"
        }
        guard let program = Launch.find(words[0]) else {
            return "\(Launch.printed(words[0])): no such program was found"
        }
        if let obstacle = ProgramFile(path: program)?.obstacle {
            StandardError.say(program, obstacle)
        }
        let others = getenv("LD_PRELOAD").map { Bytes(ascii: ":" + String(cString: $0)) } ?? []
        _ = (library + others).withCString { setenv("LD_PRELOAD", $0, 1) }
        return Launch.execute(program, words)
    }

    /// Starts a program in place of this process. Returns why that failed, in a sentence.
    static func replace(by words: [Bytes]) -> String {
        guard let program = find(words[0]) else {
            return "\(printed(words[0])): no such program was found"
        }
        return execute(program, words)
    }

    private static func execute(_ program: Bytes, _ words: [Bytes]) -> String {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { $0.withCString { strdup($0) } } + [nil]
        _ = program.withCString { execv($0, &arguments) }
        return "\(printed(program)) cannot be started: \(sentence(forError: errno))"
    }

    private static func printed(_ path: Bytes) -> String {
        String(decoding: path.printable, as: UTF8.self)
    }

    private static var nearLibrary: Bytes? {
        var place = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &place, place.count)
        guard count > 0, let slash = place.prefix(count).lastIndex(of: .slash) else { return nil }
        let folder = Bytes(place[..<slash])
        return ["/", "/../lib/", "/../../preload/"].lazy
            .map { folder + Bytes(ascii: $0 + libraryName) }.first(where: access)
    }

    /// Returns the path of a program, found as a shell does.
    private static func find(_ word: Bytes) -> Bytes? {
        if word.contains(.slash) { return word }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.utf8.split(separator: UInt8(ascii: ":")).lazy
            .map { Bytes($0) + [.slash] + word }
            .first { $0.withCString { Glibc.access($0, X_OK) == 0 } }
    }
}

private func access(_ path: Bytes) -> Bool {
    path.withCString { Glibc.access($0, R_OK) == 0 }
}
