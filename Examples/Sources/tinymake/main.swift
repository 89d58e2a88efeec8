// tinymake — runs the commands of a small makefile in the order of their dependencies, as many at a time as there are workers.
//
//     tinymake [-f FILE] [--draw FILE.dot] [TARGET…]
//
// A rule is a line `target: needed files`, then lines of commands that begin with a tab. A target is made if its file is missing
// or older than a file that it needs. The first failure stops the run.
import Foundation
import Overdrive

struct Rule {
    var needs: [String]
    var commands: [String] = []
}

struct Failure: Error, CustomStringConvertible {
    let description: String
}

func parse(_ text: String) throws -> (rules: [String: Rule], first: String?) {
    var (rules, first, current): ([String: Rule], String?, String?) = ([:], nil, nil)
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        if line.hasPrefix("\t"), let current {
            rules[current]?.commands.append(String(line.dropFirst()))
        } else if let colon = line.firstIndex(of: ":"), !line.hasPrefix("#") {
            let target = line[..<colon].trimmingCharacters(in: .whitespaces)
            let needs = line[line.index(after: colon)...].split(separator: " ").map(String.init)
            // Rules of one target add up. Words such as .PHONY are no targets.
            if !target.hasPrefix(".") { rules[target, default: Rule(needs: [])].needs += needs }
            (first, current) = (first ?? (target.hasPrefix(".") ? nil : target), target)
        } else if !line.allSatisfy(\.isWhitespace), !line.hasPrefix("#") {
            throw Failure(description: "line \(number + 1) is neither a rule nor a command (\(line)). Write target: needed files.")
        }
    }
    return (rules, first)
}

@Sendable func changed(_ file: String) -> Date? {
    try? FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
}

@Sendable func make(_ target: String, _ rule: Rule) throws {
    if let made = changed(target), rule.needs.allSatisfy({ changed($0).map { $0 <= made } ?? false }) { return }
    for command in rule.commands {
        FileHandle.standardOutput.write(Data("\(command)\n".utf8))
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", command]
        try shell.run()
        blocking { shell.waitUntilExit() }
        if shell.terminationStatus != 0 { throw Failure(description: "exit code \(shell.terminationStatus) from: \(command)") }
    }
}

/// The nodes of the wanted targets, and of what they need.
func build(_ rules: [String: Rule], _ wanted: [String]) throws -> TaskGraph.Frozen {
    let graph = TaskGraph(name: "make", onFailure: .stop)
    var nodes: [String: TaskGraph.Node<Void>] = [:]
    var pending = wanted
    while let target = pending.popLast() {
        guard nodes[target] == nil else { continue }
        guard let rule = rules[target] else {
            guard changed(target) != nil else { throw Failure(description: "no rule makes \(target). Add a rule or the file.") }
            nodes[target] = graph.node(target) {}
            continue
        }
        nodes[target] = graph.node(target) { try make(target, rule) }
        pending += rule.needs
    }
    for (target, node) in nodes {
        for needed in rules[target]?.needs ?? [] {
            if let needed = nodes[needed] { graph.order(needed, before: node) }
        }
    }
    return try graph.freeze()
}

func main() throws {
    var (file, picture, wanted): (String, String?, [String]) = ("Makefile", nil, [])
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
        switch argument {
        case "-f": file = arguments.popFirst() ?? file
        case "--draw": picture = arguments.popFirst()
        default: wanted.append(argument)
        }
    }
    let (rules, first) = try parse(String(contentsOfFile: file, encoding: .utf8))
    let frozen = try build(rules, wanted.isEmpty ? first.map { [$0] } ?? [] : wanted)
    if let picture {
        let text = picture.hasSuffix(".svg") ? frozen.svg() : frozen.dot()
        try text.write(toFile: picture, atomically: true, encoding: .utf8)
    }
    _ = try frozen.run()
}

do {
    try main()
} catch {
    FileHandle.standardError.write(Data("tinymake: \(error)\n".utf8))
    exit(2)
}
