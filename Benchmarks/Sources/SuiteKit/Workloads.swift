extension Workload {
    /// Every question of the suite.
    public static let all: [Workload] = trees + loops + closures + latency + handoffs + order + graphs + frozenGraphs + jobs + blocking + resources

    private static let slowTrees = ["concurrency", "libdispatch-async"]

    private static func slower(_ parameters: Parameters, _ contenders: [String] = slowTrees) -> [String: Parameters] {
        Dictionary(uniqueKeysWithValues: contenders.map { ($0, parameters) })
    }

    static let trees: [Workload] = [
        Workload(
            id: "fib", word: "fib",
            question: "fib(n), forking at every n of 2 or more, without a cut-off.",
            caution: "All fork, no work: the ratio to serial is the worst that any program can see.",
            unit: .fork, family: .trees, quick: ["n": 30], full: ["n": 35],
            slower: slower(["n": 20]).merging(["openmp": ["n": 25], "go": ["n": 25]]) { a, _ in a },
            units: { Oracle.fib($0["n", default: 0] + 1) - 1 }, oracle: { UInt64(Oracle.fib($0["n", default: 0])) }),
        Workload(
            id: "skynet", word: "skynet",
            question: "A tree with ten children per node, down to single leaves, summed up.",
            caution: "Contenders with many-way forks pay per child, those with two-way forks per half.",
            unit: .leaf, family: .trees, quick: ["leaves": 100_000], full: ["leaves": 1_000_000],
            slower: slower(["leaves": 10_000]),
            units: { Double($0["leaves", default: 1]) }, oracle: { UInt64($0["leaves", default: 1]).sumBelow }),
        Workload(
            id: "nqueens", word: "nqueens",
            question: "All placements of n queens, forking for every safe one.",
            caution: "The boards are copied by value, which costs more than most forks.",
            unit: .node, family: .trees, quick: ["n": 10], full: ["n": 12],
            slower: slower(["n": 8]),
            units: { Double(Oracle.queens($0["n", default: 0]).nodes) }, oracle: { Oracle.queens($0["n", default: 0]).solutions }),
        Workload(
            id: "nqueens-array", word: "nqueens-array",
            question: "The same, with the board in an array of 14 bytes that each branch captures by value.",
            caution: "Only contenders in Swift. Swift copies the array byte by byte.",
            unit: .node, family: .trees, quick: ["n": 10], full: ["n": 12],
            slower: slower(["n": 8]),
            units: { Double(Oracle.queens($0["n", default: 0]).nodes) }, oracle: { Oracle.queens($0["n", default: 0]).solutions }),
        Workload(
            id: "matmul", word: "matmul",
            question: "Square matrices of doubles, in quarters down to blocks of 32, two phases of four.",
            caution: "Nearly all arithmetic: a scheduler has to be poor to be seen here.",
            unit: .block, family: .trees, quick: ["n": 256], full: ["n": 1024],
            units: { let blocks = Double($0["n", default: 32] / 32); return blocks * blocks * blocks },
            oracle: { Oracle.matmul($0["n", default: 0]) }),
        Workload(
            id: "uts", word: "uts",
            question: "Counting an unbalanced geometric tree (UTS T1, of depth 8 when quick), a fork per child.",
            caution: "Each node hashes: 200 ns of work per fork.",
            unit: .node, family: .trees, quick: ["tree": 0], full: ["tree": 1],
            slower: ["concurrency": ["tree": 0]],
            units: { Double(Oracle.uts($0["tree", default: 0])) }, oracle: { Oracle.uts($0["tree", default: 0]) }, budget: 400),
        Workload(
            id: "uts-t3l", word: "uts",
            question: "Counting a binomial tree 17,844 deep (UTS T3L): stacks and memory under stealing.",
            caution: "One sample of 111 million nodes; the memory is the point.",
            unit: .node, family: .trees, quick: ["tree": 3], full: ["tree": 33, "least": 1, "cold": 1],
            slower: ["concurrency": ["tree": 3], "openmp": ["tree": 3]],
            units: { Double(Oracle.uts($0["tree", default: 0])) }, oracle: { Oracle.uts($0["tree", default: 0]) },
            beside: "uts", budget: 400),
        Workload(
            id: "integrate", word: "integrate",
            question: "Adaptive integration of x³ + x, forking at every interval that is not fine enough.",
            caution: "The recursion is balanced except near zero.",
            unit: .call, family: .trees, quick: ["to": 100, "per_epsilon": 1_000_000], full: ["to": 1000, "per_epsilon": 10_000_000],
            slower: ["concurrency": ["to": 100, "per_epsilon": 10_000]],
            units: { Double(Oracle.integral($0).calls) }, oracle: { Oracle.integral($0).bits }, beside: "uts"),
        Workload(
            id: "mergesort", word: "mergesort",
            question: "Mergesort of random 32-bit numbers, serial below 2,048; a merge is two parts.",
            caution: "The last merge has two parts, from its ends: the speed-up ends near 4, however many workers.",
            unit: .element, family: .trees, quick: ["n": 500_000], full: ["n": 10_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { Oracle.sorted($0["n", default: 0]) }),
        Workload(
            id: "quicksort", word: "quicksort",
            question: "Quicksort of random 32-bit numbers, serial below 2,048 and in the partitions.",
            caution: "The first partition is serial, and the halves differ.",
            unit: .element, family: .trees, quick: ["n": 500_000], full: ["n": 10_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { Oracle.sorted($0["n", default: 0]) }, beside: "mergesort"),
        Workload(
            id: "tree-small", word: "tree-sum",
            question: "The sum of a tree of 1,023 nodes: 1 to 4 µs of work, too short to wake a worker for.",
            caution: "The whole job is shorter than a wake-up; best is to leave it alone.",
            unit: .node, family: .trees, quick: ["nodes": 1023], full: ["nodes": 1023],
            units: { Double($0["nodes", default: 1]) }, oracle: { UInt64($0["nodes", default: 1]).sumBelow }),
        Workload(
            id: "tree-large", word: "tree-sum",
            question: "The sum of a tree of 16.7 million nodes (1 million when quick).",
            caution: "Bound by memory.",
            unit: .node, family: .trees, quick: ["nodes": 1 << 20], full: ["nodes": 1 << 24],
            slower: ["concurrency": ["nodes": 1 << 15], "go": ["nodes": 1 << 20], "openmp": ["nodes": 1 << 20]],
            units: { Double($0["nodes", default: 1]) }, oracle: { UInt64($0["nodes", default: 1]).sumBelow }, beside: "tree-small"),
    ]

    static let loops: [Workload] = [
        Workload(
            id: "loop-flops", word: "loop-flops", question: "y = 1.5 x² + 0.5 x + 2 over an array of doubles.",
            caution: "Bound by memory, and by how well a compiler makes vectors of the loop inside. A body of a nanosecond: by parts, with the loop over a part written out, in every contender.",
            unit: .iteration, family: .loops, quick: ["n": 1_000_000], full: ["n": 10_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "loop-empty", word: "loop-empty", question: "A loop whose body is empty.",
            caution: "By parts, as loop-flops. Below a nanosecond the shape of the compiled loop decides, not the scheduler.",
            unit: .iteration, family: .loops, quick: ["n": 1_000_000], full: ["n": 1_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "loop-imbalanced", word: "loop-imbalanced",
            question: "Iterations of up to 999 steps; those of the last hundredth take fifty times as long.",
            caution: "Static schedules lose by construction. Bodies that are long for the loop around them: each contender's usual form, which is Overdrive's for single numbers and the others' for parts, as above.",
            unit: .iteration, family: .loops, quick: ["n": 20_000], full: ["n": 100_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
    ] + [10, 100, 1000, 10_000, 100_000, 1_000_000].map { steps in
        let n = max(8, 10_000_000 / steps)
        return Workload(
            id: "loop-grain-\(steps)", word: "loop-grain",
            question: "\(n) iterations of \(steps) dependent multiplications, about 1.3 ns each.",
            caution: "By each contender's usual form, as loop-imbalanced. Libraries that see cheap bodies cut the range in larger parts.",
            unit: .iteration, family: .loops, quick: ["n": n, "steps": steps], full: ["n": n, "steps": steps],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }, beside: steps == 10 ? nil : "loop-grain-10")
    }

    /// OperationQueue takes ten microseconds and more for each.
    private static let few = ["operations": ["n": 10_000]]

    static let closures: [Workload] = [
        Workload(
            id: "spawn-outside", word: "spawn-outside",
            question: "One thread submits capture-free closures and waits for all of them.",
            caution: "libdispatch and OpenMP have no such workers as a foreign submitter could starve; CPUs are shared with the submitter.",
            unit: .closure, family: .closures, quick: ["n": 100_000], full: ["n": 1_000_000], slower: few,
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "spawn-captures", word: "spawn-captures", question: "The same; each closure captures an Int and a reference.",
            caution: "Half of it is the allocator, with memory that one thread takes and another gives back.",
            unit: .closure, family: .closures, quick: ["n": 100_000], full: ["n": 1_000_000], slower: few,
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "spawn-4", word: "spawn-outside", question: "Four threads submit a quarter of the closures each, at once.",
            caution: "Six threads on two CPUs, where there are only two.",
            unit: .closure, family: .closures, quick: ["n": 100_000, "submitters": 4], full: ["n": 1_000_000, "submitters": 4],
            slower: few,
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "spawn-4-captures", word: "spawn-captures", question: "Four threads submit a quarter each; each closure captures an Int and a reference.",
            caution: "The allocator's memory goes from four threads to the workers and back.",
            unit: .closure, family: .closures, quick: ["n": 100_000, "submitters": 4], full: ["n": 1_000_000, "submitters": 4],
            slower: few,
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }, beside: "spawn-captures"),
        Workload(
            id: "spawn-inside", word: "spawn-inside", question: "A running closure submits capture-free closures; somebody waits for all.",
            caution: "Above 64 tasks per thread OpenMP runs them at once instead of queueing them.",
            unit: .closure, family: .closures, quick: ["n": 100_000], full: ["n": 1_000_000], slower: few,
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "chain", word: "chain", question: "Each closure submits the next.",
            caution: "One at a time: a scheduler that wakes a second worker for it loses.",
            unit: .hop, family: .closures, quick: ["n": 10_000], full: ["n": 100_000],
            slower: ["operations": ["n": 1000], "concurrency": ["n": 10_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "group", word: "group", question: "Groups of ten closures, each with a notification when they are done.",
            caution: "The group object itself is part of the cost.",
            unit: .closure, family: .closures, quick: ["n": 10_000], full: ["n": 100_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0] / 10 * 10) }),
    ]

    /// One closure at a time, and a wait that is not a group's. Tasks run on the executor that each caution names.
    static let handoffs: [Workload] = [
        Workload(
            id: "handoff-semaphore", word: "handoff-semaphore", question: "One closure is submitted, and a semaphore that it signals is waited for; the median.",
            caution: "The contender's own semaphore, or one of POSIX. Overdrive's and libdispatch's spin.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "wake-hot"),
        Workload(
            id: "handoff-condition", word: "handoff-condition", question: "The same with a condition variable.",
            caution: "The submitter sleeps in the kernel, and no contender sees its wait.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "wake-hot"),
        Workload(
            id: "handoff-pipe", word: "handoff-pipe", question: "The same with a byte through a pipe.",
            caution: "The submitter sleeps in the kernel, and no contender sees its wait.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "wake-hot"),
        Workload(
            id: "handoff-operation", word: "handoff-operation", question: "One operation or task is added and waited for; the median.",
            caution: "The thread that waits belongs to no contender.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "wake-hot"),
        Workload(
            id: "handoff-continuation", word: "handoff-continuation", question: "A Swift task submits one closure and awaits a continuation that it resumes; the median.",
            caution: "The task is on Swift's own pool, which shares libdispatch's threads. Overdrive's closure is on another pool: two wake-ups. The contender with its own executor needs none.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "await"),
        Workload(
            id: "handoff-actor", word: "handoff-actor", question: "A Swift task calls an actor whose executor is a serial queue of the contender; the median.",
            caution: "The task runs on Swift's own pool, except for `overdrive-own`. An actor of Swift Concurrency shares that pool, so its call needs no switch.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "await"),
        Workload(
            id: "handoff-run", word: "handoff-run", question: "A Swift task awaits one closure of a queue as a call; the median.",
            caution: "Only Overdrive has such a call: on Swift's own pool, and on the contender's own executor.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "await"),
        Workload(
            id: "handoff-run-serial", word: "handoff-run-serial", question: "The same on a serial queue.",
            caution: "As handoff-run.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "await"),
    ]

    static let latency: [Workload] = [
        Workload(
            id: "wake-hot", word: "wake", question: "One closure is submitted and waited for, again and again; the median.",
            caution: "Workers still spin: the price is paid in CPU time; the report says how many CPUs were busy.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }),
        Workload(
            id: "wake-parked", word: "wake", question: "The same after a millisecond of quiet.",
            caution: "The kernel's wake-up, mostly.",
            unit: .trip, family: .latency, quick: ["trips": 100, "quiet_us": 1000], full: ["trips": 1000, "quiet_us": 1000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }),
        Workload(
            id: "wake-20ms", word: "wake", question: "The same after 20 ms of quiet.",
            caution: "The kernel's wake-up, mostly.",
            unit: .trip, family: .latency, quick: ["trips": 10, "quiet_us": 20_000], full: ["trips": 50, "quiet_us": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }, beside: "wake-parked"),
        Workload(
            id: "ping-pong", word: "ping-pong", question: "Two serial queues (actors, goroutines) hand one closure to and fro.",
            caution: "Actors that nobody else calls may run on their caller's thread without any hop.",
            unit: .trip, family: .latency, quick: ["n": 1000], full: ["n": 10_000],
            units: { 1000 * Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "await", word: "await", question: "A Swift task awaits a task's value, again and again; the median.",
            caution: "The awaiting task is Swift's: going back to its thread pool is most of it.",
            unit: .trip, family: .latency, quick: ["trips": 2000], full: ["trips": 20_000],
            units: { _ in 1000 }, oracle: { UInt64($0["trips", default: 0]) }),
    ]

    static let order: [Workload] = [
        Workload(
            id: "serial-queue", word: "serial-queue", question: "One thread submits to a serial queue whose closures count without a lock.",
            caution: "Swift Concurrency's is an actor, and a task per message.",
            unit: .closure, family: .order, quick: ["n": 100_000], full: ["n": 1_000_000],
            slower: ["operations": ["n": 10_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "serial-empty", word: "serial-empty", question: "The same with closures that capture nothing.",
            caution: "What the queue itself costs; closures that capture pay the allocator beside it, in every contender.",
            unit: .closure, family: .order, quick: ["n": 100_000], full: ["n": 1_000_000],
            slower: ["operations": ["n": 10_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "serial-many", word: "serial-many", question: "A hundred closures on each of 1,000 serial queues (10,000 when full), in turn.",
            caution: "The queues' memory is most of it.",
            unit: .closure, family: .order, quick: ["queues": 1000], full: ["queues": 10_000],
            slower: ["operations": ["queues": 100]],
            units: { 100 * Double($0["queues", default: 1]) }, oracle: { UInt64(100 * $0["queues", default: 0]) }),
        Workload(
            id: "sync", word: "sync", question: "Calls with sync on a serial queue that nobody else uses.",
            caution: "On the calling thread: no worker is asked.",
            unit: .call, family: .order, quick: ["n": 100_000], full: ["n": 1_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "limited", word: "limited", question: "Closures on a queue that runs one fewer at a time than there are workers, and one at least; none of them sees more.",
            caution: "With two workers that is one at a time. Swift Concurrency has no such queue: a group that waits for a child before it adds the next.",
            unit: .closure, family: .order, quick: ["n": 20_000], full: ["n": 100_000],
            slower: ["operations": ["n": 10_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "barrier", word: "barrier", question: "Nineteen readers and a writer in turn on one queue; writers find nobody beside them.",
            caution: "Every twentieth closure drains the queue, and the readers' own count is most of what they do.",
            unit: .closure, family: .order, quick: ["n": 20_000, "every": 20], full: ["n": 200_000, "every": 20],
            slower: ["operations": ["n": 2000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0] / $0["every", default: 1]) }),
        Workload(
            id: "timers", word: "timers", question: "Timers that are due within a tenth of a second, all armed at once.",
            caution: "Most of the 100 ms is waiting; the report says how many CPUs were busy.",
            unit: .whole, family: .order, quick: ["n": 10_000, "least": 1, "warmup_ms": 0], full: ["n": 100_000],
            units: { _ in 1_000_000 }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "timer-arm", word: "timer-arm",
            question: "A timer is armed and called off while 100,000 others (a million when full) are armed.",
            caution: "libdispatch's is a source, with a block of its own.",
            unit: .timer, family: .order, quick: ["n": 10_000, "armed": 100_000], full: ["n": 10_000, "armed": 1_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "group-pairs", word: "group-pairs", question: "One thread enters a group and leaves it, again and again.",
            caution: "The group is empty each time, which is what costs most where others wait for that.",
            unit: .call, family: .order, quick: ["n": 100_000], full: ["n": 1_000_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
    ]

    static let graphs: [Workload] = [
        Workload(
            id: "tasks", word: "tasks", question: "Task objects that run a closure each and tell a handler of their end.",
            caution: "OperationQueue's completion blocks run after its wait has ended; they are waited for.",
            unit: .node, family: .graphs, quick: ["n": 10_000], full: ["n": 1_000_000],
            slower: ["operations": ["n": 10_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "dag-chain", word: "dag-chain", question: "Tasks in a row, each depending on the one before.",
            caution: "Making the tasks and their edges is part of it.",
            unit: .node, family: .graphs, quick: ["n": 1000], full: ["n": 10_000],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "dag-tree", word: "dag-tree", question: "A binary tree of tasks, each after both its children.",
            caution: "Making the tasks and their edges is part of it. OperationQueue has 1,023 always: what it takes for each grows with their number.",
            unit: .node, family: .graphs, quick: ["n": 1023], full: ["n": 65_535], slower: ["operations": ["n": 1023]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "wavefront", word: "wavefront", question: "A square of cells, each after its upper and left neighbours.",
            caution: "Making the tasks and their edges is part of it.",
            unit: .node, family: .graphs, quick: ["side": 64, "steps": 100], full: ["side": 256, "steps": 100],
            slower: ["operations": ["side": 32]],
            units: { let side = Double($0["side", default: 1]); return side * side },
            oracle: { Oracle.wavefront($0["side", default: 1], $0["steps", default: 0]) }),
        Workload(
            id: "wavefront-counted", word: "wavefront-counted",
            question: "The same by hand: a cell's closure is submitted by the last of its neighbours, which count.",
            caution: "What one writes where there are no dependencies; nothing is made beforehand.",
            unit: .node, family: .graphs, quick: ["side": 64, "steps": 100], full: ["side": 256, "steps": 100],
            slower: ["operations": ["side": 32]],
            units: { let side = Double($0["side", default: 1]); return side * side },
            oracle: { Oracle.wavefront($0["side", default: 1], $0["steps", default: 0]) }),
        Workload(
            id: "pipeline", word: "pipeline",
            question: "Numbers go through a source, a parallel stage and an ordered stage, 16 at a time; all stages are empty.",
            caution: "Overdrive moves empty items on one thread while another one looks on; oneTBB moves them on all threads.",
            unit: .item, family: .graphs, quick: ["n": 100_000, "tokens": 16], full: ["n": 1_000_000, "tokens": 16],
            units: { Double($0["n", default: 1]) }, oracle: { let n = UInt64($0["n", default: 0]); return n * (n + 1) / 2 }),
        Workload(
            id: "retry", word: "retry", question: "Pieces of work that fail twice and then succeed.",
            caution: "Each contender's own way to try again: a loop, a new operation, a policy.",
            unit: .attempt, family: .graphs, quick: ["n": 1000], full: ["n": 10_000],
            units: { 3 * Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
    ]

    static let jobs: [Workload] = [
        Workload(
            id: "files", word: "files", question: "The job: 500 files of 1 to 64 KiB (5,000 when full) are opened, read and summed up.",
            caution: "The files are in the page cache; half of it is the kernel's copying.",
            unit: .file, family: .jobs, quick: ["n": 500], full: ["n": 5000],
            units: { Double($0["n", default: 1]) }, oracle: { Oracle.files($0["n", default: 0]) })
    ]

    static let blocking: [Workload] = [
        Workload(
            id: "blocked", word: "blocked", question: "16 closures sleep 50 ms each (64 and 100 ms when full); nobody says so.",
            caution: "Perfect is one sleep; a fixed pool takes n/workers of them.",
            unit: .whole, family: .blocking, quick: ["n": 16, "ms": 50, "least": 1, "warmup_ms": 0, "most": 1],
            full: ["n": 64, "ms": 100, "least": 1, "warmup_ms": 0, "most": 1],
            units: { _ in 1_000_000 }, oracle: { UInt64($0["n", default: 0]) }),
        Workload(
            id: "blocked-said", word: "blocked-said", question: "The same, and the closures say that they block.",
            caution: "Only Overdrive has a word for it; the others' rows are the ones above.",
            unit: .whole, family: .blocking, quick: ["n": 16, "ms": 50, "least": 1, "warmup_ms": 0, "most": 1],
            full: ["n": 64, "ms": 100, "least": 1, "warmup_ms": 0, "most": 1],
            units: { _ in 1_000_000 }, oracle: { UInt64($0["n", default: 0]) }, beside: "blocked"),
    ]

    static let resources: [Workload] = [
        Workload(
            id: "idle", word: "idle", question: "CPU time of a pool that has worked and is left alone.",
            caution: "A first tenth of a second is left out.",
            unit: .cpuShare, family: .resources, quick: ["ms": 500], full: ["ms": 10_000],
            units: { 1000 * Double($0["ms", default: 1]) }, oracle: { _ in 10_000 }, beside: "memory"),
        Workload(
            id: "memory", word: "memory", question: "Resident memory of closures that wait in a suspended queue.",
            caution: "Freed memory that is used again is not seen; the closures capture one reference.",
            unit: .bytes, family: .resources, quick: ["n": 1_000_000], full: ["n": 1_000_000],
            slower: ["operations": ["n": 100_000]],
            units: { Double($0["n", default: 1]) }, oracle: { UInt64($0["n", default: 0]) }),
    ]
}

extension UInt64 {
    /// 0 + 1 + … + (self - 1)
    var sumBelow: UInt64 { self * (self - 1) / 2 }
}
