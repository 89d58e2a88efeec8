/// A scheduler that answers the suite's questions through a program of its own.
public struct Contender: Sendable {
    /// What results call it.
    public let id: String
    /// What tables call it.
    public let title: String
    /// The program: beside the suite's own, or among the peers.
    public let program: String
    /// Arguments beside the workload's.
    public var extra: [String: Int] = [:]
    /// How it is set up, and what to know before believing its figures.
    public let note: String
    /// Whether the table of `make bench` has it.
    public var isHeadline = true

    public static let all: [Contender] = [
        Contender(
            id: "overdrive", title: "Overdrive", program: "contender-overdrive",
            note: "Swift, a scheduler with as many workers as asked for."),
        Contender(
            id: "overdrive-own", title: "Overdrive's executor", program: "contender-overdrive", extra: ["own": 1],
            note: "Swift tasks prefer the scheduler as their executor. Other rows are as Overdrive's.", isHeadline: false),
        Contender(
            id: "overdrive-c", title: "Overdrive C", program: "overdrive-c",
            note: "The engine from C, compiled as the package is; what calls it by clang -O3.", isHeadline: false),
        Contender(
            id: "libdispatch", title: "libdispatch", program: "contender-dispatch",
            note: "As many CPUs as workers, by affinity. Trees by concurrentPerform, which below the first level is a plain loop. Closures on a concurrent queue of the program's own."),
        Contender(
            id: "libdispatch-global", title: "dispatch global", program: "contender-dispatch",
            extra: ["global": 1],
            note: "Closures on DispatchQueue.global(), which is quicker than a queue of one's own; it has no barriers and no suspension."),
        Contender(
            id: "libdispatch-async", title: "dispatch async", program: "contender-dispatch",
            extra: ["continuing": 1],
            note: "Trees by one queue.async per child, the last child going on with its parent.", isHeadline: false),
        Contender(
            id: "concurrency", title: "Swift Concurrency", program: "contender-concurrency",
            note: "Default executor, as many CPUs as workers, by affinity. async let and task groups; the last child by its parent."),
        Contender(
            id: "operations", title: "OperationQueue", program: "contender-operations",
            note: "As many operations at a time as workers. It cannot fork and join."),
        Contender(
            id: "nio", title: "NIOThreadPool", program: "contender-nio",
            note: "As many threads as workers; an atomic count stands in for a group.", isHeadline: false),
        Contender(
            id: "threads", title: "Threads", program: "contender-threads",
            note: "A hand-made pool: one mutex, one condition, a list.", isHeadline: false),
        Contender(
            id: "onetbb", title: "oneTBB", program: "onetbb",
            note: "g++ -O3; task groups with one shared context, run_and_wait for the last child; flow graphs for dependencies."),
        Contender(
            id: "openmp", title: "OpenMP", program: "openmp",
            note: "gcc's libgomp, g++ -O3. Above 64 tasks per thread it runs new ones at once; its barriers spin. Loops by the default schedule, uneven ones guided."),
        Contender(
            id: "rayon", title: "rayon", program: "rayon",
            note: "Debian's librust-rayon, rustc -O.", isHeadline: false),
        Contender(
            id: "go", title: "Go", program: "go-contender",
            note: "Debian's golang, GOMAXPROCS as workers.", isHeadline: false),
        Contender(
            id: "serial", title: "serial", program: "contender-serial",
            note: "Swift, one thread, every fork a call."),
        Contender(
            id: "serial-cxx", title: "serial C++", program: "serial",
            note: "g++ -O3, one thread, every fork a call: what oneTBB and OpenMP are to be measured by."),
    ]

    public static func named(_ id: String) -> Contender? { all.first { $0.id == id } }
}
