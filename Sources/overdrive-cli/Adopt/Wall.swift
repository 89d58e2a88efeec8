#if CLI
/// A place in a package's sources that stays with Dispatch or Foundation, because somebody else takes their types.
struct Wall {
    let file: String
    let number: Int
    let reason: String

    var line: String { "\(file):\(number): \(reason)" }

    /// The places in `code`, which stands in `file`.
    static func all(in code: String, file: String) -> [Wall] {
        let rules: [(Regex<Substring>, String)] = [
            (
                #/\bdispatch_(?:async|sync|barrier|after|apply|group|semaphore|source|queue|get|main|once|io|data|block)\w*\s*\(/#,
                "the C functions know Dispatch's own objects alone: use the Swift types"
            ),
            (
                #/\baddObserver\s*\([^)]*\bqueue\s*:(?!\s*nil\b)/#,
                "NotificationCenter takes Foundation's OperationQueue: pass nil, and submit to the queue inside of the closure"
            ),
            (
                #/\bdelegateQueue\s*(?::(?!\s*nil\b)|[!?]?\.\s*underlyingQueue\s*=)/#,
                "URLSession takes Foundation's OperationQueue: give it Foundation.OperationQueue with queue.underlying"
            ),
            (
                #/\bshutdownGracefully\s*\(\s*queue\s*:/#,
                "NIO takes a queue of Dispatch's: pass queue.underlying"
            ),
            (
                #/\bdeallocator\s*:\s*\.custom\s*\((?!\s*nil\b)/#,
                "DispatchData takes a queue of Dispatch's: pass queue.underlying"
            ),
            (
                #/\bFoundation\.(?:OperationQueue|Operation|BlockOperation)\b|\bDispatch\.Dispatch\w+/#,
                "the module's name is spelled out, so this stays with Foundation or Dispatch"
            ),
        ]
        var walls: [Wall] = []
        for (number, line) in code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // A point between two letters parts words here, which it does not in a text.
            for (rule, reason) in rules where line.contains(rule.wordBoundaryKind(.simple)) {
                walls.append(Wall(file: file, number: number + 1, reason: reason))
            }
        }
        return walls
    }
}
#endif
