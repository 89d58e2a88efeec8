#if CLI
/// A place in the sources that must remain with Dispatch or Foundation, because another library takes their types, or
/// that behaves differently.
struct Wall {
    let file: String
    let number: Int
    let reason: String

    var line: String { "\(file):\(number): \(reason)" }

    /// Returns the places in the code of `file` that must remain.
    static func all(in code: String, file: String) -> [Wall] {
        let rules: [(word: String, Regex<Substring>, String)] = [
            (
                "dispatch_",
                #/\bdispatch_(?:async|sync|barrier|after|apply|group|semaphore|source|queue|get|main|once|io|data|block)\w*\s*\(/#,
                "the C functions accept only Dispatch's objects: use the Swift types"
            ),
            (
                "addObserver",
                #/\baddObserver\s*\([^)]*\bqueue\s*:(?!\s*nil\b)/#,
                "NotificationCenter takes Foundation's OperationQueue: pass nil, and submit to the queue inside the closure"
            ),
            (
                "delegateQueue",
                #/\bdelegateQueue\s*(?::(?!\s*nil\b)|[!?]?\.\s*underlyingQueue\s*=)/#,
                "URLSession takes Foundation's OperationQueue: give it Foundation.OperationQueue with queue.underlying"
            ),
            (
                "shutdownGracefully",
                #/\bshutdownGracefully\s*\(\s*queue\s*:/#,
                "NIO takes a Dispatch queue: pass queue.underlying"
            ),
            (
                "deallocator",
                #/\bdeallocator\s*:\s*\.custom\s*\((?!\s*nil\b)/#,
                "DispatchData takes a Dispatch queue: pass queue.underlying"
            ),
            (
                "Foundation.",
                #/\bFoundation\.(?:OperationQueue|Operation|BlockOperation)\b/#,
                "the module's name is spelled out, so this stays with Foundation"
            ),
            ("Dispatch.", #/\bDispatch\.Dispatch\w+/#, "the module's name is spelled out, so this stays with Dispatch"),
        ]
        return places(of: rules, in: code, file: file)
    }

    /// Returns the places in `code` that compile but behave differently; AdoptOverdrive.md lists all differences.
    static func differences(in code: String, file: String) -> [Wall] {
        let rules: [(word: String, Regex<Substring>, String)] = [
            (
                "removeDependency", #/\bremoveDependency\s*\(/#,
                "differs: the operation no longer waits; with Foundation on Linux it never runs"
            ),
            (
                "addBarrierBlock", #/\baddBarrierBlock\b/#,
                "differs: a barrier of an empty or suspended queue waits; Foundation on Linux runs it at once"
            ),
            (
                "addExecutionBlock", #/\baddExecutionBlock\b/#,
                "differs: the blocks of a BlockOperation run at the same time, not one after another"
            ),
            (
                "setTarget", #/\bsetTarget\s*\(\s*queue\s*:/#,
                "differs: an active queue takes no target and traps; sources and channels take one at any time"
            ),
            (
                "relativePriority", #/\brelativePriority\s*:(?!\s*0\b)/#,
                "differs: a relative priority is stored without effect"
            ),
            ("assignCurrentContext", #/\.assignCurrentContext\b/#, "differs: the flag has no effect"),
        ]
        return places(of: rules, in: code, file: file)
    }

    private static func places(
        of rules: [(word: String, Regex<Substring>, String)], in code: String, file: String
    ) -> [Wall] {
        var walls: [Wall] = []
        for (number, line) in code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // The search for the word comes first, because a regular expression takes 1,000 times as long. A point
            // separates words here, unlike in prose.
            for (word, rule, reason) in rules
            where Source.line(line, has: word) && line.contains(rule.wordBoundaryKind(.simple)) {
                walls.append(Wall(file: file, number: number + 1, reason: reason))
            }
        }
        return walls
    }
}
#endif
