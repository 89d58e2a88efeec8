// A program that knows nothing of Overdrive: what is preloaded has to reach it.
internal import ProbeWork

for name in CommandLine.arguments.dropFirst() {
    if name == "take-hook" {
        Workload.takeHook()
    } else if let cost = try await Benchmark.measure(name) {
        Workload.say("\(name) \(Int(cost.rounded()))")
    } else if try await !Workload.run(name) {
        Workload.say("no workload \(name)")
    }
}
