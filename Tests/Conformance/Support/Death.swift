import Foundation
import Testing

/// The exit status of a process in which something did not return in time: what a silent hang looks like.
let hangs: Int32 = 75

/// Runs `body` on a thread of its own; ends the process if it does not return. The surface that is expected to hang,
/// which is libdispatch unless the scenario says otherwise, is given less time for it.
func orHangs(on surface: Surface, isExpected: Bool? = nil, _ body: @escaping @Sendable () -> Void) {
    let done = Gate()
    Thread.detachNewThread {
        body()
        done.open()
    }
    if !done.pass(within: isExpected ?? (surface == .libdispatch) ? 0.3 : patience) { exit(hangs) }
}

/// How libdispatch or Foundation answers misuse.
enum Answer {
    /// An illegal instruction, without a word.
    case trap
    /// A fatal error with a sentence of its own.
    case message
    /// It dies somehow.
    case anyDeath
    /// None: the process ends by itself.
    case exit
}

/// Expects the end of a process to be told: by libdispatch with `answer`, by ours with one sentence that names the
/// call and the broken promise, or with nothing where `sentence` is nil.
func expectDeath(
    _ result: ExitTest.Result?,
    on surface: Surface,
    theirs answer: Answer = .trap,
    saying sentence: String?,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    // No result: the status was wrong, and is reported already.
    guard let result else { return }
    // The testing library writes marks of its own to the stream, which are not text.
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        .filter { $0.allSatisfy(\.isASCII) }.map(String.init)
    let told = lines.filter { $0.hasPrefix("overdrive: ") }
    let isTrap = result.exitStatus == .signal(SIGILL) || result.exitStatus == .signal(SIGTRAP)
    if surface == .dropIn {
        // The same promise, in the words of the call that broke it.
        if sentence != nil {
            #expect(told.count == 1, "\(lines)", sourceLocation: sourceLocation)
            #expect(result.exitStatus == .signal(SIGABRT), sourceLocation: sourceLocation)
        }
        return
    }
    // In a difference that ours survives it has nothing to say.
    let expected = sentence.map { surface.expects(.misuseSpeaks, theirs: [], ours: ["overdrive: \($0)"]) } ?? []
    #expect(told == expected, sourceLocation: sourceLocation)
    switch (surface, answer) {
    case (.libdispatch, .trap):
        #expect(isTrap, "\(result.exitStatus)", sourceLocation: sourceLocation)
        #expect(lines == [], "libdispatch says nothing", sourceLocation: sourceLocation)
    case (.libdispatch, .message):
        #expect(isTrap, "\(result.exitStatus)", sourceLocation: sourceLocation)
        #expect(lines.contains { $0.contains("Fatal error") }, "\(lines)", sourceLocation: sourceLocation)
    case (.libdispatch, .anyDeath), (.libdispatch, .exit): break
    case (.overdrive, _), (.dropIn, _):
        if sentence != nil { #expect(result.exitStatus == .signal(SIGABRT), sourceLocation: sourceLocation) }
    }
}
