import Foundation

#if OD
    import OverdriveDispatch
#endif

/// Trees of queues with targets, suspended or inactive at first; plain closures, barriers, `sync`, groups, specifics and
/// preconditions.
///
/// Left out, because docs/differences.md lists it: targets of active queues, specifics of an outer `sync`, order at the
/// start of closures on concurrent queues.
func queues(_ dice: inout Dice) -> [String] {
    let (trace, key) = (Trace(), DispatchSpecificKey<Int>())
    let bands: [DispatchQoS.QoSClass] = [.background, .utility, .default, .userInitiated]
    struct Node {
        let queue: DispatchQueue
        let isConcurrent: Bool
        let parent: Int?
        let shared: DispatchQueue?
        let value: Int?
        let isInactive: Bool
        var submitted: [(name: String, isBarrier: Bool)] = []
    }
    var nodes: [Node] = []
    for number in 0..<(1 + dice.below(5)) {
        let isConcurrent = dice.chance(40)
        let parent = number > 0 && dice.chance(60) ? dice.below(number) : nil
        let shared: DispatchQueue? = parent == nil && dice.chance(50) ? .global(qos: dice.pick(bands)) : nil
        var attributes: DispatchQueue.Attributes = isConcurrent ? .concurrent : []
        let isInactive = dice.chance(25)
        if isInactive { attributes.insert(.initiallyInactive) }
        let target = parent.map { nodes[$0].queue } ?? shared
        let queue: DispatchQueue
        if isInactive, let target {
            queue = DispatchQueue(label: "q\(number)", attributes: attributes)
            queue.setTarget(queue: target)
        } else {
            queue = DispatchQueue(label: "q\(number)", attributes: attributes, target: target)
        }
        if !isInactive { queue.suspend() }
        let value = dice.chance(50) ? number : nil
        queue.setSpecific(key: key, value: value)
        nodes.append(Node(queue: queue, isConcurrent: isConcurrent, parent: parent, shared: shared, value: value, isInactive: isInactive))
    }
    func chain(_ number: Int) -> [Int] {
        var (list, next): ([Int], Int?) = ([], number)
        while let here = next { list.append(here); next = nodes[here].parent }
        return list
    }
    func expected(_ number: Int) -> Int { chain(number).compactMap { nodes[$0].value }.first ?? -1 }
    let (group, wrong) = (DispatchGroup(), Count())
    let held = DispatchQueue(label: "hold all", attributes: .concurrent)
    for step in 0..<(3 + dice.below(20)) {
        let number = dice.below(nodes.count)
        let (name, isBarrier, rest) = ("c\(step)", dice.chance(20), pause(&dice))
        let (value, line) = (expected(number), chain(number).map { nodes[$0].queue })
        let root = nodes[chain(number).last!].shared
        nodes[number].submitted.append((name, isBarrier))
        let work: @Sendable () -> Void = {
            trace.run(name) {
                for queue in line { dispatchPrecondition(condition: .onQueue(queue)) }
                if let root { dispatchPrecondition(condition: .onQueue(root)) }
                dispatchPrecondition(condition: .notOnQueue(held))
                if isBarrier { dispatchPrecondition(condition: .onQueueAsBarrier(line[0])) }
                if (DispatchQueue.getSpecific(key: key) ?? -1) != value { wrong.add() }
                rest()
            }
        }
        nodes[number].queue.async(group: group, flags: isBarrier ? .barrier : [], execute: work)
    }
    for node in nodes {
        for (place, one) in node.submitted.enumerated() {
            for other in node.submitted[..<place] where !node.isConcurrent || one.isBarrier || other.isBarrier {
                trace.mustFollow(other.name, one.name)
            }
        }
    }
    // On a serial queue nothing overlaps, of the queues on it neither.
    for (number, node) in nodes.enumerated() where !node.isConcurrent {
        trace.alone(nodes.indices.filter { chain($0).contains(number) }.flatMap { nodes[$0].submitted.map(\.name) })
    }
    let notified = DispatchSemaphore(value: 0)
    group.notify(queue: held) {
        trace.run("notified")
        notified.signal()
    }
    for node in nodes { for one in node.submitted { trace.mustFollow(one.name, "notified") } }
    // Each queue starts when its turn comes, in any order.
    var rest = nodes
    while !rest.isEmpty {
        let node = rest.remove(at: dice.below(rest.count))
        if node.isInactive { node.queue.activate() } else { node.queue.resume() }
    }
    notified.wait()
    for (number, node) in nodes.enumerated() {
        for kind in ["sync", "barrier"] {
            let name = "\(kind)\(number)"
            node.queue.sync(flags: kind == "barrier" ? .barrier : []) {
                trace.run(name) { if (DispatchQueue.getSpecific(key: key) ?? -1) != expected(number) { wrong.add() } }
            }
        }
    }
    var lines = trace.lines
    lines.append("wrong specifics \(wrong.value)")
    lines.append("qos \(nodes.map { $0.isInactive ? "-" : "\($0.queue.qos.qosClass)" })")
    lines.append("own \(nodes.map { $0.queue.getSpecific(key: key) ?? -1 })")
    if nodes.count == 1, !nodes[0].isConcurrent { lines.append("order \(trace.order)") }
    return lines
}
