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
    private func check(_ diagnostics: [Diagnostic], mode: Int, prelude: String, flow: Bool = false) throws {
        var source = prelude
        var lines: [Int: Diagnostic] = [:]
        var number = prelude.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        for diagnostic in diagnostics {
            number += 1
            source += diagnostic.code + "\n"
            lines[number] = diagnostic
        }
        var said: [Int: String] = [:]
        for line in try Typecheck.errors(in: source, mode: mode, flow: flow).split(separator: "\n") {
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

    /// Spellings of Dispatch and of Foundation's operations.
    private static let spellings: [Diagnostic] = {
        let time = "write asyncAfter(.seconds(10))", timeout = "write wait(timeout: .seconds(5))"
        return [
            Diagnostic("func s1() { group.notify(queue: .main) { work() } }", says: "renamed to 'notify(on:execute:)'"),
            Diagnostic("func s2() { item.notify(queue: .main) { work() } }", says: "renamed to 'notify(on:execute:)'"),
            Diagnostic("func s3() { _ = group.wait(timeout: .now() + 5) }", says: timeout),
            Diagnostic("func s4() { _ = semaphore.wait(timeout: .now() + 5) }", says: timeout),
            Diagnostic("func s5() { _ = item.wait(timeout: .now() + 0.5) }", says: timeout),
            Diagnostic("func s6() { queue.asyncAfter(deadline: .now() + 10) { work() } }", says: time),
            Diagnostic("func s7() { queue.asyncAfter(deadline: .now() + 10, execute: work) }", says: time),
            Diagnostic("func s8() { queue.cancelAllOperations() }", says: "renamed to 'cancelAll()'"),
            Diagnostic("func s9() { queue.waitUntilAllOperationsAreFinished() }", says: "renamed to 'waitUntilAllTasksAreFinished()'"),
            Diagnostic("func s10() { queue.maxConcurrentOperationCount = 4 }", says: "renamed to 'maxConcurrentTaskCount'"),
            Diagnostic("func s11() { _ = queue.operationCount }", says: "renamed to 'pendingTaskCount'"),
            Diagnostic("func s12() { queue.addBarrierBlock { work() } }", says: "write async(flags: .barrier)"),
            Diagnostic("func s13() { queue.name = \"a\" }", says: "write TaskQueue.concurrent(label:)"),
            Diagnostic("func s14() { queue.qualityOfService = .utility }", says: "write TaskQueue(qos:)"),
            Diagnostic("func s15() { queue.addOperation(task) }", says: "renamed to 'add(task:)'"),
            Diagnostic("func s16() { queue.addOperation { work() } }", says: "write add { … }"),
            Diagnostic("func s17() { _ = queue.operations }", says: "renamed to 'tasks'"),
            Diagnostic("func s18() { task.addDependency(other) }", says: "renamed to 'add(dependency:)'"),
            Diagnostic("func s19() { task.removeDependency(other) }", says: "renamed to 'remove(dependency:)'"),
            Diagnostic("func s20() { task.completionBlock = { work() } }", says: "write onCompletion { … }"),
            Diagnostic("func s21() { task.qualityOfService = .utility }", says: "renamed to 'qos'"),
            Diagnostic("func s22() { _ = TaskQueue(label: \"a\") }", says: "DispatchQueue(label:) was serial"),
            Diagnostic("func s22b(_ own: Scheduler) { _ = TaskQueue(label: \"a\", scheduler: own) }", says: "write TaskQueue.concurrent(label:scheduler:)"),
            Diagnostic("func s23() { _ = TaskQueue(label: \"a\", maxConcurrentTaskCount: 4) }", says: "write TaskQueue.concurrent(label:"),
            Diagnostic("func s25() { queue.asyncAfter(wallDeadline: .now() + 10) { work() } }", says: "timers do not use the wall clock"),
            Diagnostic("func s26() { queue.setTarget(queue: .main) }", says: "renamed to 'setTarget(_:)'"),
            Diagnostic("func s27() { _ = TaskQueue.current }", says: "TaskQueue.currentLabel"),
            Diagnostic("func s28() { queue.underlyingQueue = nil }", says: "write TaskQueue(queue:)"),
            Diagnostic("func s29() { _ = task.isAsynchronous }", says: "Task.async { … }"),
            Diagnostic("func s30() { _ = TaskQueue(label: \"a\", attributes: .concurrent) }", says: "write TaskQueue.concurrent(label:)"),
            Diagnostic(
                "func s31() { _ = TaskQueue(label: \"a\", qos: .utility, attributes: [.concurrent, .initiallyInactive]) }",
                says: "initiallyInactive: true"),
            Diagnostic("func s32(_ graph: TaskGraph) { graph.run() }", says: "write try graph.freeze(), once, and run the frozen graph"),
            Diagnostic("func s24() { task.queuePriority = .high }", says: "there is no order within a quality of service"),
        ]
    }()

    private let porter = """
        import Overdrive
        @Sendable func work() {}
        let (queue, group, item, semaphore) = (TaskQueue(), WaitGroup(), WorkItem {}, CountingSemaphore(value: 1))
        let (task, other) = (Task.inline { 1 }, Task.inline { 2 })

        """

    @Test("what Dispatch and Foundation spell otherwise", arguments: [5, 6])
    func spellings(mode: Int) throws {
        try check(Self.spellings, mode: mode, prelude: porter)
    }

    /// Conditions that would not be asked.
    private static let conditions: [Diagnostic] = {
        let result = "(TaskConditionResult) -> Void", answer = "async -> TaskConditionResult { .satisfied }"
        let block = "@escaping @Sendable \(result)"
        let two = "or conform to CallbackTaskCondition for the form with an evaluationBlock"
        let labels = "different argument labels from those required by protocol 'CallbackTaskCondition'"
        let tasks = "dependencies(forTask:) returns [AnyTask]"
        return [
            Diagnostic("struct C1: TaskCondition { func evaluate<T>(forTsk task: Task<T>) \(answer) }", says: two),
            Diagnostic("struct C2: TaskCondition { func evaluate<T>(forTask task: Task<T>, evaluationBlock: \(block)) {} }", says: two),
            Diagnostic("struct C3: CallbackTaskCondition { func evaluate<T>(forTsk task: Task<T>, evaluationBlock: \(block)) {} }", says: labels),
            Diagnostic(
                "struct C4: TaskCondition { func dependencies<T>(forTask task: Task<T>) -> [Operation] { [] }; "
                    + "func evaluate<T>(forTask task: Task<T>) \(answer) }", says: tasks),
            Diagnostic(
                "struct C5: CallbackTaskCondition { func dependencies<T>(forTask task: Task<T>) -> [Task<Int>] { [] }; "
                    + "func evaluate<T>(forTask task: Task<T>, evaluationBlock: \(block)) {} }", says: tasks),
        ]
    }()

    @Test("a condition with one letter wrong, or with Foundation's operations", arguments: [5, 6])
    func conditions(mode: Int) throws {
        try check(Self.conditions, mode: mode, prelude: "import Foundation\nimport Overdrive\n")
    }

    @Test("but conditions of both kinds do", arguments: [5, 6])
    func bothConditions(mode: Int) throws {
        let source = """
            import Overdrive
            struct Plain: TaskCondition {
                let login: AnyTask
                func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { [login] }
                func evaluate<T>(forTask task: Task<T>) async -> TaskConditionResult { .satisfied }
            }
            struct Old: CallbackTaskCondition {
                let login: AnyTask
                func dependencies<T>(forTask task: Task<T>) -> [AnyTask] { [login] }
                func evaluate<T>(forTask task: Task<T>, evaluationBlock: (TaskConditionResult) -> Void) { evaluationBlock(.satisfied) }
            }
            func add(_ task: AnyTask) { task.add(condition: Plain(login: task)); task.add(condition: Old(login: task)) }
            """
        #expect(try Typecheck.errors(in: source, mode: mode) == "")
    }

    @Test("but what we spell does", arguments: [5, 6])
    func ours(mode: Int) throws {
        let source = porter + """
            func ours(_ any: AnyTask, _ member: any TaskGroupMember, _ result: Result<Int, Never>) async throws {
                queue.asyncAfter(deadline: .now + .seconds(10)) { work() }
                queue.asyncAfter(.seconds(10), execute: work)
                group.notify(on: .main) { work() }
                queue.add(task: any)
                queue.add(task: .inline { 5 })
                queue.add(task: BlockTask(dependencies: [task]) { work() })
                queue.add(task: BlockTask { work() })
                queue.add(task: InlineTask(dependencies: [task]) { work() })
                let tasks = TaskGroup()
                tasks.register(any)
                tasks.register(task, taskId: "task")
                tasks.register(member)
                tasks.register(TaskGroup())
                _ = (result.value, result.error, task.result?.value, task.result?.error)
            }
            """
        #expect(try Typecheck.errors(in: source, mode: mode) == "")
    }

    private let sharing = """
        import Overdrive
        final class Buffer { var count = 0 }
        let queue = TaskQueue()

        """

    /// What libdispatch let pass: a closure is handed over, with what it has.
    private static let handedOver: [Diagnostic] = {
        let races = "risks causing data races"
        return [
            Diagnostic("func h1() { let b = Buffer(); queue.async { b.count += 1 }; b.count += 1 }", says: races),
            Diagnostic("func h2() { let b = Buffer(); queue.asyncAfter(.seconds(1)) { b.count += 1 }; b.count += 1 }", says: races),
            Diagnostic("func h3(_ b: Buffer) { queue.async { b.count += 1 } }", says: races),
            Diagnostic("func h4() -> Buffer { let b = Buffer(); queue.add { b.count += 1 }; return b }", says: races),
            Diagnostic("func h5() async throws { let b = Buffer(); try await queue.run { b.count += 1 }; b.count += 1 }", says: races),
            Diagnostic("func h7(_ b: Buffer) { Task.inline { 5 }.onValue { b.count += $0 } }", says: races),
            Diagnostic("func h6() { let b = Buffer(); TaskQueue.onMain { b.count += 1 }; b.count += 1 }", says: races),
        ]
    }()

    @Test("what a closure shares with who hands it over")
    func handedOver() throws {
        try check(Self.handedOver, mode: 6, prelude: sharing, flow: true)
    }

    @Test("but what is handed over for good does")
    func handedOverForGood() throws {
        let source = sharing + """
            func give() { let b = Buffer(); queue.async { b.count += 1 } }
            func make() async throws -> Buffer { try await queue.run { let b = Buffer(); b.count += 1; return b } }
            func local() -> Int { let b = Buffer(); return queue.sync { b.count += 1; return b.count } }
            """
        #expect(try Typecheck.errors(in: source, mode: 6, flow: true) == "")
    }

    /// What several closures at once would share.
    private static let shared: [Diagnostic] = {
        let capture = "with non-Sendable type 'Buffer' in a '@Sendable' closure"
        return [
            Diagnostic("func m1() { var sum = 0; Parallel.forEach(0..<9) { sum += $0 } }", says: "mutation of captured var 'sum'"),
            Diagnostic("func m2(_ b: Buffer) { Parallel.forEach(0..<9) { b.count += $0 } }", says: capture),
            Diagnostic("func m4(_ b: Buffer) { _ = WorkItem { b.count += 1 } }", says: capture),
            Diagnostic("func m5() -> Task<Buffer>? { nil }", says: "type 'Buffer' does not conform to the 'Sendable' protocol"),
            Diagnostic("func m6() { queue.async { throw CancellationError() } }", says: "invalid conversion from throwing function"),
        ]
    }()

    @Test("what several closures share")
    func shared() throws {
        try check(Self.shared, mode: 6, prelude: sharing)
    }

    @Test("Swift's own tasks, whatever their attributes", arguments: [5, 6])
    func swiftTasks(mode: Int) throws {
        try check(Self.swiftTasks, mode: mode, prelude: prelude)
    }

    @Test("and they do where OverdriveCore alone is imported", arguments: [5, 6])
    func coreAlone(mode: Int) throws {
        let source = "import OverdriveCore\nfunc work() async {}\nfunc f() { Task { await work() } }\n"
        #expect(try Typecheck.errors(in: source, mode: mode) == "")
    }

    @Test("a queue's closure that awaits, which is told where that goes", arguments: [5, 6])
    func awaitingClosure(mode: Int) throws {
        let diagnostic = Diagnostic(
            "func t1() { TaskQueue().async { await work() } }",
            says: "write Task(executorPreference: queue.taskExecutor) { … }")
        try check([diagnostic], mode: mode, prelude: "import OverdriveCore\nfunc work() async {}\n")
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
