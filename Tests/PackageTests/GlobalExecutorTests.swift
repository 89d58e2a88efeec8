import Foundation
import Testing

/// The process's executor, in processes of its own: the probes beside this test bundle.
@Suite("GlobalExecutor", .timeLimit(.minutes(10)))
struct GlobalExecutorTests {
    /// Where the tests' process stands, and the probes beside it.
    static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    /// Runs a probe and returns what it said, on both streams.
    private func probe(_ name: String, _ steps: String..., preloading library: URL? = nil, environment: [String: String?] = [:]) throws -> [String] {
        let tool = Tool(
            Self.products.appendingPathComponent(name).path, steps,
            environment: environment.merging(["LD_PRELOAD": library?.path]) { $1 })
        let (status, output) = try tool.run(in: Self.products)
        #expect(status == 0, "\(name) \(steps): \(output)")
        return output.split(separator: "\n").map(String.init)
    }

    private static let onOurs = [
        "task overdrive", "detached overdrive", "group overdrive", "async let overdrive", "actor overdrive",
        "yield overdrive", "sleep overdrive", "main actor main queue", "priority kept",
    ]

    // MARK: - In source

    @Test("runs every kind of job on the scheduler's workers, and the main actor's where they belong")
    func kinds() throws {
        #expect(try probe("global-probe", "install", "kinds") == ["install true true"] + Self.onOurs)
    }

    @Test("leaves a program that does not install it as it is")
    func notInstalled() throws {
        let lines = try probe("global-probe", "kinds")
        #expect(lines.first == "task other")
        #expect(!lines.contains { $0.hasSuffix("overdrive") })
    }

    @Test("keeps time: nothing early, in order, cancelled at once")
    func clocks() throws {
        #expect(
            try probe("global-probe", "install", "clocks") == [
                "install true true", "early 0", "order [1, 2, 3]", "cancelled true", "past deadlines end",
            ])
    }

    @Test("ends where the stock pool deadlocks: 63 tasks wait for a 64th")
    func deadlock() throws {
        let lines = try probe("global-probe", "install", "deadlock")
        #expect(lines.last?.hasPrefix("deadlock probe ended after ") == true)
    }

    @Test("moves a utility task up that somebody awaits in a hurry, past 100,000 others")
    func raised() throws {
        try expectRaised(probe("global-probe", "install", "raised"))
    }

    @Test("moves a background task up again that was awaited by a utility one before: both have been in a line")
    func raisedTwice() throws {
        try expectRaised(probe("global-probe", "install", "raised-twice", environment: ["OVERDRIVE_WORKERS": "1"]))
    }

    private func expectRaised(_ lines: [String]) throws {
        let numbers = try #require(lines.first { $0.hasPrefix("raised") })
            .split { !$0.isNumber && $0 != "." }.compactMap { Int($0) }
        // Others that started meanwhile, others that waited then, and the priority.
        let (before, left, priority) = (numbers[numbers.count - 3], numbers[numbers.count - 2], numbers[numbers.count - 1])
        #expect(before < left, "\(lines)")
        #expect(priority == 25)
        #expect(lines.last == "all 99999 others ended")
    }

    @Test("moves tasks up one after the other, wherever in both low bands they stand")
    func raisedAnywhere() throws {
        let lines = try probe("global-probe", "install", "raised-anywhere")
        let numbers = try #require(lines.first { $0.contains("raised") }).split { !$0.isNumber }.compactMap { Int($0) }
        #expect(numbers[0] >= 10, "the others had begun before they were awaited: \(lines)")
        #expect(numbers[1] < 10_000, "\(lines)")
        #expect(lines.last == "all 40000 ended")
    }

    @Test("is installed by a library's initialiser as in main")
    func initialiser() throws {
        let lines = try probe("global-probe", "kinds", "install", environment: ["PROBE_INSTALLS_BEFORE_MAIN": "1"])
        #expect(lines == Self.onOurs + ["install true true"])
    }

    @Test("says that it stands still where 128 blocked tasks need more than 64 spares, and has them meet with more")
    func spares() throws {
        let few = try probe("global-probe", "install", "meet", environment: ["OVERDRIVE_WORKERS": "2"])
        #expect(few.count == 3)
        #expect(few[1].hasPrefix("said after"))
        #expect(few[1].contains("every thread waits (66 threads, 64 spares at most). Raise spareWorkers, or OVERDRIVE_SPARES"))
        let enough = try probe(
            "global-probe", "install", "meet", environment: ["OVERDRIVE_WORKERS": "2", "OVERDRIVE_SPARES": "128"])
        #expect(enough == ["install true true", "128 tasks met"])
    }

    @Test("has as many spares as it may for 100 tasks that block, and the metrics say so")
    func spareMetrics() throws {
        let lines = try probe(
            "global-probe", "install", "blocked-briefly", "spares",
            environment: ["OVERDRIVE_WORKERS": "2", "OVERDRIVE_SPARES": "8"])
        // Ten at a time take a second, two alone would take five.
        let seconds = try #require(lines[1].split(separator: " ").compactMap { Double($0) }.first { $0 < 60 })
        #expect(seconds < 4.5, "\(lines)")
        #expect(lines.last == "spares at most 8, limit reached true")
    }

    @Test("keeps the order and the place of tasks that prefer an executor, over yield and sleep")
    func preference() throws {
        let lines = try probe("global-probe", "install", "preference")
        #expect(lines.count == 5)
        for line in lines[1...2] { #expect(line.hasSuffix("odd first true, even in order true, 0 strayed")) }
        for line in lines[3...4] { #expect(line.hasSuffix(" 0 strayed")) }
    }

    @Test("runs nothing in the pool beside the closure for an `await queue.run`, and for an actor on a queue its return")
    func poolRuns() throws {
        #expect(
            try probe("global-probe", "install", "pool-runs")
                == ["install true true", "main actor 1 runs", "actor on a queue 2 runs", "task 1 runs"])
    }

    @Test("wakes no worker for a call between actors, however many there are", arguments: [2, 4, 16])
    func pairs(workers: Int) throws {
        let line = try #require(
            probe("global-probe", "install", "pair-trips", environment: ["OVERDRIVE_WORKERS": "\(workers)"]).last)
        let wakes = line.split(separator: " ").compactMap { Double($0) }.suffix(3)
        #expect(wakes.reduce(0, +) < 0.05, "useful wakes, spurious ones, steals for each call: \(line)")
    }

    @Test("is installed once, however often one asks")
    func twice() throws {
        #expect(try probe("global-probe", "install", "install") == ["install true true", "install true true"])
    }

    @Test("takes over after tasks have run")
    func late() throws {
        #expect(
            try probe("global-probe", "tasks-first", "install", "kinds")
                == ["before other", "install true true"] + Self.onOurs)
    }

    @Test("steps back where another library has taken the runtime's hook")
    func hookFirst() throws {
        #expect(
            try Set(probe("global-probe", "take-hook", "install", "hook")) == [
                "overdrive: GlobalExecutor.install(): another library has taken over swift_task_enqueueGlobal_hook; "
                    + "tasks run where they ran before",
                "install false false", "hook takes jobs, they run on other",
            ])
    }

    @Test("lets a library take the runtime's hook afterwards: that one sees each job first")
    func hookLater() throws {
        #expect(
            try probe("global-probe", "install", "take-hook", "hook") == [
                "install true true", "hook takes jobs, they run on overdrive",
            ])
    }

    @Test("steps back where the process has an executor of somebody else's")
    func otherExecutor() throws {
        #expect(
            try Set(probe("global-probe", "other-executor", "install", "kinds")).isSuperset(of: [
                "overdrive: GlobalExecutor.install(): the process has an executor already, a OtherExecutor; "
                    + "tasks run where they ran before",
                "install false false", "task other",
            ]))
    }

    @Test("goes on in a forked child, on workers of its own")
    func forked() throws {
        #expect(
            try Set(probe("global-probe", "install", "fork")) == [
                "install true true", "child overdrive", "parent overdrive, child's status 0",
            ])
    }

    @Test("leaves the process's end alone: what is enqueued meanwhile runs or does not")
    func exit() throws {
        #expect(try probe("global-probe", "install", "exit").first == "install true true")
    }

    @Test("runs the tasks of a scheduler that was shut down")
    func stoppedScheduler() throws {
        #expect(
            try probe("global-probe", "install", "stopped-scheduler") == [
                "install true true", "stopped scheduler's task overdrive",
            ])
    }

    @Test("runs work of every kind at once, and each comes back as it should")
    func mixed() throws {
        #expect(try probe("global-probe", "install", "mixed") == ["install true true", "mixed: 14 kinds, many rounds, 0 wrong"])
    }

    // MARK: - Preloaded

    /// What `scripts/build-preload` makes, of the tests' own build.
    private static let preload = Result {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-preload-\(getpid())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let tool = Tool(
            ClientTests.package.appendingPathComponent("scripts/build-preload").path, ["--from", products.path, directory.path])
        let (status, output) = try tool.run(in: ClientTests.package)
        #expect(status == 0, "\(output)")
        return directory.appendingPathComponent("liboverdrive-preload.so")
    }

    @Test("preloaded, runs a program that knows nothing of it, and steps back before who takes the hook")
    func preloaded() throws {
        let library = try Self.preload.get()
        #expect(try probe("plain-probe", "kinds", preloading: library) == Self.onOurs)
        #expect(
            try probe("plain-probe", "take-hook", "hook", preloading: library)
                == ["hook takes jobs, they run on overdrive"])
    }

    @Test("preloaded into a program that links it, leaves that one alone, in one sentence")
    func preloadedAndLinked() throws {
        let lines = try probe("global-probe", "install", "kinds", preloading: try Self.preload.get())
        #expect(
            Set(lines) == Set(
                [
                    "overdrive: the program carries Overdrive itself, so the preloaded one steps back; call "
                        + "GlobalExecutor.install() in its source", "install true true",
                ] + Self.onOurs))
    }

    @Test("preloaded into programs without Swift, is not there, also where the Swift part cannot be found")
    func preloadedElsewhere() throws {
        let alone = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-alone-\(getpid())")
        try FileManager.default.createDirectory(at: alone, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: alone) }
        let library = alone.appendingPathComponent("liboverdrive-preload.so")
        try FileManager.default.copyItem(at: try Self.preload.get(), to: library)
        let shell = Tool(
            "/usr/bin/env", ["bash", "-c", "git --version | cut -c1-11; /bin/true && echo yes"],
            environment: ["LD_PRELOAD": library.path])
        let (status, output) = try shell.run(in: alone)
        #expect(status == 0)
        #expect(output == "git version\nyes\n")
        let lines = try probe("plain-probe", "kinds", preloading: library)
        #expect(lines.contains("task other"))
        #expect(
            lines.contains {
                $0.hasPrefix("overdrive: the program's tasks run where they ran before: \(alone.path)/liboverdrive-global.so: ")
            })
    }

    @Test("preloaded into a program whose Swift runtime it does not know, leaves that one alone, in one sentence")
    func preloadedIntoUnknownRuntime() throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-unknown-\(getpid())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        // A runtime that takes jobs and has no way to replace its executor.
        try """
            #include <stdio.h>
            void swift_task_enqueueGlobal(void *job) { (void)job; }
            int main(void) { return puts("it runs as ever") < 0; }
            """.write(to: place.appendingPathComponent("main.c"), atomically: true, encoding: .utf8)
        let build = try Tool(
            "/usr/bin/env", ["bash", "-c", "$(command -v clang || echo cc) -fuse-ld=lld -rdynamic main.c -o program"]
        ).run(in: place)
        #expect(build.status == 0, "\(build.output)")
        let (status, output) = try Tool(
            place.appendingPathComponent("program").path, [], environment: ["LD_PRELOAD": try Self.preload.get().path]
        ).run(in: place)
        #expect(status == 0)
        let lines = output.split(separator: "\n").map(String.init)
        #expect(
            Set(lines) == Set(
                [
                    "overdrive: the program's Swift runtime lets nobody replace its executor (6.3 does), so its tasks "
                        + "run where they ran before", "it runs as ever",
                ]))
    }

    @Test("is built beside what programs run with, not over it: they would run on in another build's code")
    func builtAgain() throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("overdrive-again-\(getpid())")
        defer { try? FileManager.default.removeItem(at: place) }
        func build() throws -> [String] {
            let tool = Tool(
                ClientTests.package.appendingPathComponent("scripts/build-preload").path,
                ["--from", Self.products.path, place.path])
            #expect(try tool.run(in: ClientTests.package).status == 0)
            return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        }
        let names = try build()
        #expect(names == ["liboverdrive-global.so", "liboverdrive-preload.so"])
        let inUse = try names.map { try FileHandle(forReadingFrom: place.appendingPathComponent($0)) }
        #expect(try build() == names)
        for handle in inUse {
            var file = stat()
            fstat(handle.fileDescriptor, &file)
            #expect(file.st_nlink == 0)
        }
    }

    @Test("needs no Swift library to be loaded")
    func needs() throws {
        let (status, output) = try Tool("/usr/bin/env", ["readelf", "-d", try Self.preload.get().path])
            .run(in: Self.products)
        #expect(status == 0)
        #expect(output.split(separator: "\n").filter { $0.contains("(NEEDED)") }.allSatisfy { $0.contains("[libc.so") })
    }
}
