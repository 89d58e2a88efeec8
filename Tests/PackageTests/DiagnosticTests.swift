import Foundation
import Testing

/// A line of code that does not compile, and what the compiler says about it.
struct Diagnostic: Sendable {
    let code: String
    let sentence: String

    init(_ code: String, says sentence: String) {
        self.code = code
        self.sentence = sentence
    }
}

/// What the compiler says of code that was written for something else.
@Suite("Code that does not compile", .serialized)
struct DiagnosticTests {
    /// Each line must be answered by an error that has the sentence.
    private func check(_ diagnostics: [Diagnostic], mode: Int, prelude: String) throws {
        var source = prelude
        var lines: [Int: Diagnostic] = [:]
        var number = prelude.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        for diagnostic in diagnostics {
            number += 1
            source += diagnostic.code + "\n"
            lines[number] = diagnostic
        }
        var said: [Int: String] = [:]
        for line in try Typecheck.errors(in: source, mode: mode).split(separator: "\n") {
            guard let match = line.firstMatch(of: /\.swift:(\d+):\d+: error: (.*)/), let at = Int(match.1) else { continue }
            said[at, default: ""] += match.2 + "\n"
        }
        for (number, diagnostic) in lines {
            let answer = said[number] ?? "nothing"
            #expect(
                answer.contains(diagnostic.sentence),
                "Swift \(mode) says of \(diagnostic.code):\n\(answer)")
        }
        let others = said.filter { lines[$0.key] == nil }
        #expect(others == [:], "Swift \(mode) says of the rest: \(others)")
    }

    /// A closure without the emitter of a progressive task is nobody's value.
    private static let swiftTasks: [Diagnostic] = {
        let sentence = "write AsyncTask { … } for Swift's task"
        return [
            Diagnostic("func t1() { Task { await work() } }", says: sentence),
            Diagnostic("func t2() { Task { @MainActor in mainWork() } }", says: sentence),
            Diagnostic("func t3() { Task { @Sendable in await work() } }", says: sentence),
            Diagnostic("func t4() { let task = Task { 5 }; _ = task }", says: sentence),
            Diagnostic("func t5() { _ = Task { () -> Int in let number = 5; return number } }", says: sentence),
            Diagnostic("func t6() { Task(priority: .high) { @MainActor in mainWork() } }", says: sentence),
            Diagnostic("@MainActor func t7() { Task { mainWork() } }", says: sentence),
            Diagnostic("func t8() { Task { [number = 5] in print(number) } }", says: sentence),
            Diagnostic("func t9() { Task { try await fail() } }", says: sentence),
            Diagnostic("func t12() { Task(priority: .high) { await work() } }", says: sentence),
            Diagnostic("func t13() { Task.detached { await work() } }", says: "write AsyncTask.detached { … }"),
            Diagnostic("func t14() { Task.immediate { await work() } }", says: "write AsyncTask.immediate { … }"),
            Diagnostic("func t10() { Task.detached { @MainActor in mainWork() } }", says: "write AsyncTask.detached { … }"),
            Diagnostic("func t11() { Task.immediate { @MainActor in mainWork() } }", says: "write AsyncTask.immediate { … }"),
        ]
    }()

    private let prelude = """
        import Overdrive
        func work() async {}
        func fail() async throws {}
        @MainActor func mainWork() {}

        """

    @Test("Swift's own tasks, whatever their attributes", arguments: [5, 6])
    func swiftTasks(mode: Int) throws {
        try check(Self.swiftTasks, mode: mode, prelude: prelude)
    }

    @Test("and they do where OverdriveCore alone is imported", arguments: [5, 6])
    func coreAlone(mode: Int) throws {
        let source = "import OverdriveCore\nfunc work() async {}\nfunc f() { Task { await work() } }\n"
        #expect(try Typecheck.errors(in: source, mode: mode) == "")
    }

    @Test("but ours do, and both side by side", arguments: [5, 6])
    func bothKinds(mode: Int) throws {
        let ours = """
            import Overdrive
            func work() async {}
            func values() -> [Task<Int>] { [Task(value: 5), Task<Int>(value: 5), .init(value: 5)] }
            func closure() -> Task<@Sendable () -> Void> { Task(value: { print("called by who has the value") }) }
            func none() -> Task<Int?> { Task(value: nil) }
            func progressive() -> Task<Int> { Task { emit in emit(.value(5)); return {} } }
            func both(_ a: AsyncTask<Int, Never>, _ b: inout AsyncTaskGroup<Int>) { AsyncTask { await work() } }
            """
        #expect(try Typecheck.errors(in: ours, mode: mode) == "")
        let turned = """
            import Overdrive
            private typealias Task = _Concurrency.Task
            private typealias TaskGroup = _Concurrency.TaskGroup
            func work() async {}
            private func swifts(_ a: Task<Int, Never>, _ b: inout TaskGroup<Int>) { Task { await work() } }
            func ours() -> Overdrive.Task<Int> { Overdrive.Task.inline { 5 } }
            func group() -> Overdrive.TaskGroup { Overdrive.TaskGroup() }
            """
        #expect(try Typecheck.errors(in: turned, mode: mode) == "")
    }
}
