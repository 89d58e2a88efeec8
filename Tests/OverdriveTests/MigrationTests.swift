import Foundation
import Testing

/// What the pages on migration call the same, and the scenarios that show it.
@Suite("The tables of migration")
struct MigrationTests {
    /// By the page and the first cell of a row: names of tests of this target, or their beginnings.
    private static let scenarios: [String: [String: [String]]] = [
        "MigratingFromOverdrive.md": [
            "`Result.value`, `.error`, `init(_:)`": ["testComputedProperties, testMap"],
            "`Task<T>`, `run()`, `finish(with:)`": [
                "GetLogoTask", "5: the first finish counts, the second returns false and changes nothing",
            ],
            "`Task(dependencies:observers:conditions:)`": [
                "A subclass has what it was made with", "InlineTask, BlockTask and Task.inline are made with them, too",
            ],
            "`Task.result`": ["testIntializedState, testFinishedState", "testIsCancelled, testStateIfCancelled"],
            "`onValue`, `onError`": ["testOnValueCompletionBlockValue, testOnErrorCompletionBlockValue"],
            "`retry(_:)`": ["testRetryCount, testReduceRetryCount", "go on until an attempt succeeds, through the queue"],
            "`add(condition:)`, `remove(condition:)`, `conditions`": ["testConditionName, testRemoveCondition"],
            "`TaskCondition.dependencies(forTask:)`": ["testConditionWithDelegate"],
            "`TaskConditionResult`, `TaskConditionError`": ["testFailedCondition", "testSatisfiedCondition"],
            "`add(observer:)`, `contains(observer:)`, `remove(observer:)`, `observers`": ["testAddObserver, testRemoveObserver"],
            "`TaskObserver`": ["testTaskObserver", "tell observers and the delegate"],
            "`add(dependency:)`, `remove(dependency:)`": [
                "testDependencyAdd", "testRemoveValidDependency",
                "a dependency that nobody adds is brought along, to the dependent's queue",
            ],
            "`get(dependency:)`": ["testGetDependency"],
            "`isReady`, `isExecuting`, `isFinished`, `isCancelled`, `name`": ["testInlineTaskState, testInlineTaskExecution"],
            "`Task.create(_:)`, `InlineTask`, `InlineTaskBase`": ["testInlineTaskState, testInlineTaskExecution"],
            "`TaskQueue.main`, `.background`, `init()`, `init(qos:)`, `init(queue:)`": [
                "testExecutionOnCustomQueue", "On TaskQueue.main body and handlers are on the main queue",
            ],
            "`TaskQueue.isSuspended`, `maxConcurrentTaskCount`, `qos`, `delegate`, `tasks`": [
                "testSuspendedState", "issue #18: with one task at a time both of two tasks are completed", "testDelegate",
            ],
            "`TaskQueue.add(task:)`": ["testTaskEqueue"],
            "`TaskQueueDelegate`": ["testDelegate", "hears nothing of a task that was cancelled before it was added"],
        ],
        "MigratingFromChop.md": [
            "`Event.update`, `.failure`, `.completion`": ["SuccessFlow", "FailureFlow"],
            "`Task(value:)`, `Task(error:)`": ["CreateWithResult, CreateWithError"],
            "`onUpdate`, `onFailure`, `onCompletion`": ["SuccessFlow", "that come late are served at once"],
            "`start()`, `cancel()`": ["ShouldStartOnlyOnce", "CancelDisposes", "A cancelled task does not start again"],
            "`then(_:)` with a value, with a task": ["Map", "FlatMap"],
            "`recover(_:)` with a value, with a task": ["Recover", "then and recover complete once, after their values"],
            "`switchTo(_:)`": ["MainFromBackground", "Background"],
            "`registerIn(_:taskId:)`": ["SuccessFlow", "IgnorePolicy"],
            "`TaskGroup(policy:startsImmediately:)`": ["DeferredStart"],
            "`TaskGroup.Policy.replace`": ["ReplacePolicy", ".replace cancels the old task although others hold it"],
            "`TaskGroup.Policy.ignore`": ["IgnorePolicy"],
            "`register(_:taskId:)`, `start()`, `cancel()`": [
                "A group holds tasks of any result and members of the program's own, and no circle", "Cancel",
            ],
            "`deinit` cancels": ["A group that goes cancels what it holds, whoever else holds it"],
        ],
    ]

    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// The first cells of the rows of a page that promise the same.
    private func promises(of page: String) throws -> [String] {
        let guide = Self.tests.appendingPathComponent("../../Sources/Overdrive/Overdrive.docc/\(page)").standardizedFileURL
        return try String(contentsOf: guide, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return line.hasPrefix("|") && cells.count == 2 && cells[1].hasPrefix("the same") ? cells[0] : nil
        }
    }

    @Test("have a scenario for each row that says \"the same\"", arguments: scenarios.keys.sorted())
    func complete(page: String) throws {
        let rows = try promises(of: page)
        #expect(rows.count > 10)
        #expect(rows.sorted() == Self.scenarios[page]?.keys.sorted())
    }

    @Test("name scenarios that there are", arguments: scenarios.keys.sorted())
    func there(page: String) throws {
        let sources = try FileManager.default.contentsOfDirectory(atPath: Self.tests.path).filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOf: Self.tests.appendingPathComponent($0), encoding: .utf8) }.joined()
        for name in Self.scenarios[page, default: [:]].values.flatMap({ $0 }) {
            #expect(sources.contains("@Test(\"\(name)"), "\(name)")
        }
    }
}
