// The forces between bodies, each of which is drawn by all.
import Dispatch
import OverdriveCore

private struct Body: Sendable { var (x, y, z, mass): (Double, Double, Double, Double) }

private let bodies = (0..<3000).map { number in
    let n = Double(number)
    return Body(x: (n * 0.7548).truncatingRemainder(dividingBy: 1), y: (n * 0.5698).truncatingRemainder(dividingBy: 1),
        z: (n * 0.4301).truncatingRemainder(dividingBy: 1), mass: 1 + n / 3000)
}

private func pull(on number: Int, of bodies: [Body]) -> Double {
    let here = bodies[number]
    var (x, y, z) = (0.0, 0.0, 0.0)
    for there in bodies {
        let (dx, dy, dz) = (there.x - here.x, there.y - here.y, there.z - here.z)
        let squared = dx * dx + dy * dy + dz * dz + 1e-6
        let factor = there.mass / (squared * squared.squareRoot())
        x += dx * factor
        y += dy * factor
        z += dz * factor
    }
    return (x * x + y * y + z * z).squareRoot()
}

private func answer(_ pulls: [Double]) -> Int { Int(pulls.reduce(0, +)) }

func numerics() -> Program {
    Program(name: "numerics") {
        answer(bodies.indices.map { pull(on: $0, of: bodies) })
    } dispatch: {
        answer(
            [Double](unsafeUninitializedCapacity: bodies.count) { pulls, count in
                nonisolated(unsafe) let places = pulls
                DispatchQueue.concurrentPerform(iterations: bodies.count) { places[$0] = pull(on: $0, of: bodies) }
                count = bodies.count
            })
    } overdrive: {
        onOverdrive()
    }
}

private func onOverdrive() -> Int { answer(Parallel.map(bodies.indices) { pull(on: $0, of: bodies) }) }
