import Foundation
import Testing

/// The exit status of a process in which something did not return in time: what a silent hang looks like.
let hangs: Int32 = 75

/// Runs `body` on a thread of its own; ends the process if it does not return. The surface that is expected to hang,
/// which is libdispatch unless the scenario says otherwise, is given less time for it.
func orHangs(on surface: Surface, isExpected: Bool? = nil, _ body: @escaping @Sendable () -> Void) {
    let done = Gate()
    onThread {
        body()
        done.open()
    }
    if !done.pass(within: isExpected ?? (surface == .libdispatch) ? 0.3 : patience) { exit(hangs) }
}

/// Something that ends a process: ours with one sentence that names the call and the broken promise.
struct Scene: Sendable {
    /// How libdispatch or Foundation answers it.
    enum Answer: Sendable {
        /// An illegal instruction, without a word.
        case trap
        /// A fatal error with a sentence of its own.
        case message
        /// It dies somehow.
        case anyDeath
        /// A thread waits for ever.
        case hangs
        /// None: the process ends by itself.
        case survives
    }

    let name: String
    /// nil: ours survives it.
    let sentence: String?
    let answer: Answer
    let difference: Difference?
    /// Whether the drop-in types answer like theirs.
    let isKeptByDropIn: Bool
    let body: @Sendable (Surface) async -> Void

    /// - Parameter difference: Where one of them survives, or hangs.
    init(
        _ name: String, says sentence: String?, theirs answer: Answer = .trap, differs difference: Difference? = nil,
        isKeptByDropIn: Bool? = nil, _ body: @escaping @Sendable (Surface) async -> Void
    ) {
        (self.name, self.sentence, self.answer, self.difference, self.body) = (name, sentence, answer, difference, body)
        self.isKeptByDropIn = isKeptByDropIn ?? difference?.isKeptByDropIn ?? false
    }

    private func isTheirs(on surface: Surface) -> Bool {
        surface == .libdispatch || surface == .dropIn && isKeptByDropIn
    }

    /// How the process ends.
    func end(on surface: Surface) -> ExitTest.Condition {
        switch isTheirs(on: surface) ? answer : sentence == nil ? .survives : .trap {
        case .survives: .success
        case .hangs: .exitCode(hangs)
        case .trap, .message, .anyDeath: .failure
        }
    }

    /// Expects the end to be told as it should be.
    func check(_ result: ExitTest.Result?, on surface: Surface) {
        // No result: the status was wrong, and is reported already.
        guard let result else { return }
        // The testing library writes marks of its own to the stream, which are not text.
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
            .filter { $0.allSatisfy(\.isASCII) }.map(String.init)
        let told = lines.filter { $0.hasPrefix("overdrive: ") }
        switch surface {
        case .overdrive:
            #expect(told == sentence.map { surface.expects(.misuseSpeaks, theirs: [], ours: ["overdrive: \($0)"]) } ?? [])
            if sentence != nil { #expect(result.exitStatus == .signal(SIGABRT)) }
        case .dropIn:
            // The same promise, in the words of the call that broke it.
            if sentence != nil, !isKeptByDropIn {
                #expect(told.count == 1, "\(lines)")
                #expect(result.exitStatus == .signal(SIGABRT))
            }
        case .libdispatch:
            #expect(told == [])
            guard answer == .trap || answer == .message else { return }
            #expect([.signal(SIGILL), .signal(SIGTRAP)].contains(result.exitStatus), "\(result.exitStatus)")
            if answer == .trap {
                #expect(lines == [], "libdispatch says nothing")
            } else {
                #expect(lines.contains { $0.contains("Fatal error") }, "\(lines)")
            }
        }
    }
}
