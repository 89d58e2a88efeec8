internal import BenchmarkKit

/// Loops as child tasks of a discarding group, in strides.
enum Loops {
    static var entries: [Harness.Entry] {
        [
            ("loop-flops", {
                let body = FlopsBody(Harness.value("n", 1_000_000))
                measure(body.x.count, body)
                body.check()
            }),
            ("loop-empty", { measure(Harness.value("n", 1_000_000), EmptyBody()) }),
            ("loop-imbalanced", {
                let n = Harness.value("n", 20_000)
                measure(n, ImbalancedBody(n))
            }),
            ("loop-grain", { measure(Harness.value("n", 10_000), GrainBody(Harness.value("steps", 1000))) }),
        ]
    }

    private static func measure<Body: LoopBody>(_ n: Int, _ body: Body) {
        let marks = MarkBody(n)
        blocking {
            await Harness.measure {
                await loop(n, body)
                return 0
            }
            await loop(n, marks)
        }
        Harness.check(marks.once)
    }

    private static func loop<Body: LoopBody>(_ count: Int, _ body: Body) async {
        let strides = min(count, Body.stridesPerWorker * Harness.workers)
        await withDiscardingTaskGroup { group in
            for stride in 0..<strides {
                group.addTask { run(count * stride / strides..<count * (stride + 1) / strides, body) }
            }
        }
    }

    /// A function of its own, because the optimiser makes no vectors of a loop in an asynchronous one.
    @inline(never)
    private static func run<Body: LoopBody>(_ part: Range<Int>, _ body: Body) {
        for i in part { body.run(i) }
    }
}
