import Foundation
import Testing

extension Conformance {
    /// What the pages on migration from Dispatch and from `OperationQueue` call the same, and the scenarios that show it.
    @Suite("The tables of migration")
    struct MigrationTables {
        /// By the page and the first cell of a row: the suite and the name of scenarios.
        private static let scenarios: [String: [String: [String]]] = [
            "MigratingFromDispatch.md": [
            "`DispatchQueue(label:)`": [
                "A serial queue: starts closures in the order of submission",
                "A serial queue: runs one closure at a time, whoever submits",
                "A serial queue: is called what it was called",
            ],
            "`DispatchQueue(label:attributes: .concurrent)`": [
                "A concurrent queue: runs closures at the same time",
                "A concurrent queue: runs each closure once",
            ],
            "`attributes: .initiallyInactive`, `activate()`": [
                "An inactive queue: starts nothing until it is activated",
                "Misuse: resume of an inactive queue",
            ],
            "`DispatchQueue.main`": [
                "The main queue: runs closures on the main actor, in order",
                "The main queue: shares its order with the process's main queue",
            ],
            "`DispatchQueue.global(qos:)`": [
                "A concurrent queue: that everybody shares runs closures in every band",
                "A concurrent queue: that everybody shares runs closures at the same time",
            ],
            "`async(group:qos:flags:execute:)`": [
                "A serial queue: does not run a closure inside async, not even for its own closures",
                "A group: counts a closure from its submission on",
                "Quality of service: may be given for one closure",
            ],
            "`sync(execute:)`": [
                "sync: runs on the calling thread",
                "sync: throws what the closure throws",
                "Misuse: sync onto the serial queue that one is on",
            ],
            "`flags: .barrier`": [
                "A barrier: waits for everything earlier and holds back everything later",
                "A barrier: of sync runs on the caller, alone, and returns or throws",
            ],
            "`asyncAfter(deadline: .now() + 2, execute:)`": [
                "A closure that is submitted later: never runs before its time",
                "A closure that is submitted later: runs in the order of the times, whatever order they were given in",
                "A closure that is submitted later: at the end of time does not run",
            ],
            "`concurrentPerform(iterations:execute:)`": [
                "concurrentPerform: calls the body once for each number",
                "concurrentPerform: returns when all is done, and shows what was written",
                "concurrentPerform: nests",
            ],
            "`suspend()`, `resume()`": [
                "A suspended queue: starts nothing until it is resumed",
                "A suspended queue: needs as many resumes as suspends",
                "Misuse: resume more often than suspend of a \\(kind) queue",
            ],
            "`setTarget(queue:)`, `target:`": [
                "A queue on a queue: keeps to the order of a serial target",
                "A queue on a queue: is held by its target's suspension",
                "A queue on a queue: may be changed while it is inactive",
            ],
            "`setSpecific(key:value:)`, `getSpecific(key:)`": [
                "A queue's specific values: are seen by its closures, and by nobody else",
                "A queue's specific values: are replaced and removed",
            ],
            "`dispatchPrecondition(condition: .onQueue(queue))`": [
                "Asserting the queue: passes where it holds",
                "Misuse: asserting a queue elsewhere",
            ],
            "`.onQueueAsBarrier`, `.notOnQueue`": [
                "Asserting the queue: as a barrier passes in barriers, and everywhere on a serial queue",
                "Misuse: asserting not to be on a queue there",
            ],
            "`DispatchGroup`": [
                "A group: is waited for until all its closures are done",
                "A group: counts enter and leave across asynchronous calls",
                "A group: is awaited without blocking",
            ],
            "`DispatchGroup.notify(queue:work:)`": [
                "A group's notification: comes once, when all is done",
                "A group's notification: runs on the queue that was named",
            ],
            "`DispatchGroup.wait(timeout: .now() + 5)`": [
                "A group: times out while closures run; these run on, and a later wait succeeds",
            ],
            "`DispatchSemaphore`": [
                "A semaphore: gives as many permits as it has",
                "A semaphore: remembers a signal that came first",
                "A semaphore: says whether a signal woke somebody",
            ],
            "`DispatchWorkItem`": [
                "A work item: runs on the calling thread when it is performed",
                "A work item: that was cancelled before its turn does not run",
                "A work item: that is cancelled while it runs goes on to its end",
            ],
            "`DispatchWorkItem.notify(queue:execute:)`": [
                "A work item's notification: comes after the run",
                "A work item's notification: comes for a cancelled item too",
            ],
            ],
            "MigratingFromOperationQueue.md": [
            "`OperationQueue()`": [
                "A queue with a limit: has none unless told",
                "Work that was added to a queue: is added with others and waited for",
            ],
            "`maxConcurrentOperationCount`": [
                "A queue with a limit: never runs more at once",
                "A queue with a limit: does run as many at once",
                "A queue with a limit: runs more at once as soon as the limit is raised",
            ],
            "`isSuspended`": [
                "isSuspended: holds closures back",
                "isSuspended: is a flag: set twice, it is taken back once",
                "isSuspended: lets what runs go on to its end",
            ],
            "`addOperation { … }`": [
                "A queue with a limit: of one runs closures in order",
                "A queue with a limit: never runs more at once",
            ],
            "`addOperation(_:)`": [
                "Work that was added to a queue: is executing while it runs, and finished afterwards",
            ],
            "`addOperations(_:waitUntilFinished:)`": [
                "Work that was added to a queue: is added with others and waited for",
            ],
            "`addBarrierBlock(_:)`": [
                "A barrier of a queue with a limit: waits for everything earlier and holds back everything later",
            ],
            "`waitUntilAllOperationsAreFinished()`": [
                "A queue with a limit: is waited for, also when it is empty, and by many",
            ],
            "`cancelAllOperations()`": [
                "cancelAll: keeps what waits from ever running; what runs goes on",
                "cancelAll: does not touch what is submitted afterwards",
            ],
            "`operationCount`": [
                "A queue with a limit: counts what is pending",
            ],
            "`OperationQueue.main`": [
                "The main queue: runs closures on the main actor, in order",
            ],
            "`addDependency(_:)`": [
                "Work with dependencies: runs after what it depends on",
                "Work with dependencies: may depend on work of another queue",
                "Work with dependencies: runs although what it depends on was cancelled",
            ],
            "`Operation.start()`": [
                "Work that was added to a queue: is started on the calling thread where no queue has it",
            ],
            "`cancel()`, `isCancelled`": [
                "Work that was added to a queue: does not run when it was cancelled before",
                "Work that was added to a queue: goes on to its end when it is cancelled while it runs",
            ],
            "`isExecuting`, `isFinished`": [
                "Work that was added to a queue: is executing while it runs, and finished afterwards",
            ],
            "`completionBlock`": [
                "Work that was added to a queue: tells when it is over, also when it was cancelled",
            ],
            "`BlockOperation(blocks)`": [
                "Work that was added to a queue: of several blocks is over when all are, each of which ran once",
            ],
            ],
        ]

        private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

        /// The rows of a page.
        private func rows(of page: String) throws -> [(cell: String, here: String)] {
            let module = page == "MigratingFromDispatch.md" ? "OverdriveCore" : "Overdrive"
            let guide = Self.tests.appendingPathComponent("../../Sources/\(module)/\(module).docc/\(page)").standardizedFileURL
            return try String(contentsOf: guide, encoding: .utf8).split(separator: "\n").compactMap { line in
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                return line.hasPrefix("| `") && cells.count == 2 ? (cells[0], cells[1]) : nil
            }
        }

        /// By suite.
        private func names() throws -> [String: Set<String>] {
            var names: [String: Set<String>] = [:]
            let files = try FileManager.default.contentsOfDirectory(atPath: Self.tests.path).filter { $0.hasSuffix(".swift") }
            for file in files {
                let source = try String(contentsOf: Self.tests.appendingPathComponent(file), encoding: .utf8)
                var suite = ""
                for match in source.matches(of: /(@Suite|@Test|Scene)\(\s*"([^"]*)"/) {
                    if match.1 == "@Suite" { suite = String(match.2) } else { names[suite, default: []].insert(String(match.2)) }
                }
            }
            return names
        }

        @Test("have scenarios for each row that says \"the same\"", arguments: scenarios.keys.sorted())
        func complete(page: String) throws {
            let promises = try rows(of: page).filter { $0.here.contains("the same") }.map(\.cell)
            #expect(promises.count > 10)
            #expect(promises.sorted() == Self.scenarios[page]?.keys.sorted())
        }

        @Test("name scenarios that there are", arguments: scenarios.keys.sorted())
        func there(page: String) throws {
            let names = try names()
            for scenario in Self.scenarios[page, default: [:]].values.flatMap({ $0 }) {
                let parts = scenario.split(separator: ": ", maxSplits: 1)
                #expect(parts.count == 2 && names[String(parts[0])]?.contains(String(parts[1])) == true, "\(scenario)")
            }
        }

        @Test("name differences that there are", arguments: scenarios.keys.sorted())
        func differences(page: String) throws {
            var count = 0
            for row in try rows(of: page) {
                for brackets in row.here.matches(of: /\((`[a-zA-Z]+`(, `[a-zA-Z]+`)*)\)/) {
                    for name in brackets.1.split(separator: ", ") {
                        count += 1
                        #expect(Difference(rawValue: name.trimmingCharacters(in: ["`"])) != nil, "\(name)")
                    }
                }
            }
            #expect(count > 3)
        }
    }
}
