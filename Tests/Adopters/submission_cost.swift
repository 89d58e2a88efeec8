// What a submission and a sync through the drop-in types cost beside TaskQueue's own: nanoseconds by the best of many rounds in
// turns, and allocations, which are counted by the library that scripts/bench-dropin preloads.
import Foundation
import OverdriveCore
import OverdriveDispatch

typealias Count = @convention(c) () -> UInt
guard let symbol = dlsym(nil, "allocation_count") else { fatalError("run scripts/bench-dropin, which preloads the counter") }
let allocations = unsafeBitCast(symbol, to: Count.self)

let closures = 20_000
let rounds = 60
final class Target: Sendable { func touch() {} }
let target = Target()

/// Nanoseconds and allocations for each submission of one round.
func measure(_ submit: () -> Void) -> (nanoseconds: Double, allocations: Double) {
    let before = allocations()
    let began = DispatchTime.now().uptimeNanoseconds
    for _ in 0..<closures { submit() }
    let lasted = DispatchTime.now().uptimeNanoseconds - began
    return (Double(lasted) / Double(closures), Double(allocations() - before) / Double(closures))
}

var worst = 0.0
var extra = 0.0
for isSerial in [true, false] {
    let plain: TaskQueue = isSerial ? .serial(label: "plain") : .concurrent(label: "plain")
    let dropIn = OverdriveDispatch.DispatchQueue(label: "drop-in", attributes: isSerial ? [] : .concurrent)
    var best = (plain: Double.infinity, dropIn: Double.infinity)
    var turns = best
    var counts = (plain: Double.infinity, dropIn: Double.infinity)
    for _ in 0..<rounds {
        // Suspended, so that no worker runs closures or wakes meanwhile.
        plain.suspend()
        let a = measure { plain.async { [target] in target.touch() } }
        plain.resume()
        plain.sync(flags: .barrier) {}
        dropIn.suspend()
        let b = measure { dropIn.async { [target] in target.touch() } }
        dropIn.resume()
        dropIn.sync(flags: .barrier) {}
        let c = measure { plain.sync(flags: .barrier) { target.touch() } }
        let d = measure { dropIn.sync(flags: .barrier) { target.touch() } }
        best = (min(best.plain, a.nanoseconds), min(best.dropIn, b.nanoseconds))
        turns = (min(turns.plain, c.nanoseconds), min(turns.dropIn, d.nanoseconds))
        counts = (min(counts.plain, a.allocations), min(counts.dropIn, b.allocations))
    }
    worst = max(worst, best.dropIn - best.plain, turns.dropIn - turns.plain)
    extra = max(extra, counts.dropIn - counts.plain)
    print(
        String(
            format: "%@ queue: TaskQueue %.1f ns, DispatchQueue %.1f ns, %+.1f ns; allocations %.3f and %.3f",
            isSerial ? "serial" : "concurrent", best.plain, best.dropIn, best.dropIn - best.plain, counts.plain, counts.dropIn))
    print(String(format: "    sync as a barrier: %.1f ns and %.1f ns", turns.plain, turns.dropIn))
}
print(String(format: "at most 10 ns more: %@; no allocation more: %@", worst <= 10 ? "met" : "not met", extra < 0.001 ? "met" : "not met"))
exit(worst <= 10 && extra < 0.001 ? 0 : 1)
