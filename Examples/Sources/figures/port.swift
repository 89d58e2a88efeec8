// What was written for Dispatch: port-on-dispatch.swift and port-on-overdrive.swift differ in their import.
let portSteps = 40_000

func portWork(_ step: Int) -> Int { churn(step, rounds: 1000) }

func port() -> Program {
    Program(name: "port") {
        var cache: [Int: Int] = [:]
        for step in 0..<portSteps {
            let found = portWork(step)
            cache[step % 512, default: 0] += found
        }
        return cache.values.reduce(0, +)
    } dispatch: {
        portOnDispatch()
    } overdrive: {
        portOnOverdrive()
    }
}
