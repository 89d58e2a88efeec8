internal import Dispatch
internal import Glibc
internal import OverdriveCore
internal import Synchronization

/// An object for closures to capture.
private final class Ballast: Sendable {
    let weight = Atomic(0)
}

extension Comparison {
    /// The cost of submitting a closure and running it.
    static let spawning = [
        Comparison(
            name: "spawn from outside",
            question: "One thread submits capture-free closures with a group and waits for all of them.",
            unit: .nanosecondsEach, bar: .timesFaster(6),
            overdrive: { contenders in
                let group = WaitGroup()
                return Stopwatch.time(per: contenders.closures) {
                    for _ in 0..<contenders.closures { contenders.queue.async(group: group) {} }
                    group.wait()
                }
            },
            dispatch: { contenders in
                let group = DispatchGroup()
                return Stopwatch.time(per: contenders.closures) {
                    for _ in 0..<contenders.closures { contenders.dispatchQueue.async(group: group) {} }
                    group.wait()
                }
            }),
        Comparison(
            name: "spawn with captures",
            question: "The same, and each closure captures an Int and a reference.",
            unit: .nanosecondsEach, bar: .timesFaster(3),
            overdrive: { contenders in
                let (group, ballast) = (WaitGroup(), Ballast())
                return Stopwatch.time(per: contenders.closures) {
                    for number in 0..<contenders.closures {
                        contenders.queue.async(group: group) {
                            if number < 0 { ballast.weight.store(number, ordering: .relaxed) }
                        }
                    }
                    group.wait()
                }
            },
            dispatch: { contenders in
                let (group, ballast) = (DispatchGroup(), Ballast())
                return Stopwatch.time(per: contenders.closures) {
                    for number in 0..<contenders.closures {
                        contenders.dispatchQueue.async(group: group) {
                            if number < 0 { ballast.weight.store(number, ordering: .relaxed) }
                        }
                    }
                    group.wait()
                }
            }),
        Comparison(
            name: "spawn from 4 threads",
            question: "Four threads submit a quarter of the closures each, at once.",
            unit: .nanosecondsEach, bar: .timesFaster(6),
            overdrive: { contenders in
                let group = WaitGroup()
                return timeOnFourThreads(contenders.closures) { share in
                    for _ in 0..<share { contenders.queue.async(group: group) {} }
                } thenWait: {
                    group.wait()
                }
            },
            dispatch: { contenders in
                let group = DispatchGroup()
                return timeOnFourThreads(contenders.closures) { share in
                    for _ in 0..<share { contenders.dispatchQueue.async(group: group) {} }
                } thenWait: {
                    group.wait()
                }
            }),
        Comparison(
            name: "spawn from inside",
            question: "A running closure submits capture-free closures with a group.",
            unit: .nanosecondsEach, bar: .timesFaster(8),
            overdrive: { contenders in
                let (group, queue, count) = (WaitGroup(), contenders.queue, contenders.closures)
                return Stopwatch.time(per: count) {
                    queue.async(group: group) {
                        for _ in 0..<count { queue.async(group: group) {} }
                    }
                    group.wait()
                }
            },
            dispatch: { contenders in
                let (group, queue, count) = (DispatchGroup(), contenders.dispatchQueue, contenders.closures)
                return Stopwatch.time(per: count) {
                    queue.async(group: group) {
                        for _ in 0..<count { queue.async(group: group) {} }
                    }
                    group.wait()
                }
            }),
    ]

    /// Returns nanoseconds per closure while four threads submit, until `wait` returns.
    private static func timeOnFourThreads(
        _ closures: Int, submit: @escaping @Sendable (Int) -> Void, thenWait wait: () -> Void
    ) -> Double {
        let threads = 4
        return Stopwatch.time(per: closures) {
            let submitters = (0..<threads).map { _ in JoinableThread { submit(closures / threads) } }
            for submitter in submitters { submitter.join() }
            wait()
        }
    }
}

/// A system thread that can be joined.
struct JoinableThread {
    private let thread: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    init(_ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let error = pthread_create(&thread, nil, { raw in
            guard let raw else { return nil }
            Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        }, body.toOpaque())
        precondition(error == 0, "a thread for the comparison could not be created")
        self.thread = thread
    }

    func join() {
        pthread_join(thread, nil)
    }
}
