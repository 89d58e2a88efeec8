import Glibc
import TestSupport
import Testing

@testable import overdrive_cli

@Suite("The walk")
struct WalkTests {
    /// A plan, whose units end when the test says so.
    private struct Walk {
        let plan: TreePlan
        var output = Bytes()
        private let reader = FileReader(engine: CallerEngine(), hash: SumHash.self)

        init(_ path: String) { plan = TreePlan(Roots([Array(path.utf8)])) }

        /// How many lines are out, in order.
        var count: Int { output.count { $0 == 10 } }
        var names: [String] { output.split(separator: 10).map { String(decoding: $0.dropFirst(66), as: UTF8.self) } }

        mutating func end(_ unit: WorkUnit?) throws {
            let unit = try #require(unit)
            unit.perform(with: reader)
            plan.finish(unit, into: &output)
        }

        /// Ends one unit after the other as long as there is a next one. Returns how many.
        @discardableResult
        mutating func endAll() throws -> Int {
            var count = 0
            while let unit = plan.next() {
                try end(unit)
                count += 1
            }
            return count
        }
    }

    /// With as many units under way as `width`, which end in an order that `seed` decides.
    private func walk(_ path: String, width: Int, seed: UInt64) throws -> Walk {
        var (walk, generator, underWay) = (Walk(path), SplitMix(state: seed), [WorkUnit]())
        while !walk.plan.isFinished || !underWay.isEmpty {
            while underWay.count < width, let unit = walk.plan.next() { underWay.append(unit) }
            try #require(!underWay.isEmpty, "nothing is under way, and the plan is not finished")
            try walk.end(underWay.remove(at: Int.random(in: underWay.indices, using: &generator)))
        }
        return walk
    }

    private func wideTree() throws -> TemporaryTree {
        let tree = try TemporaryTree()
        for first in ["a", "a-", "a.", "a0", "b"] {
            for second in ["x!", "x/y", "x/y.z", "x0", "z/1/2", "z/1-2"] {
                try tree.write("\(first)/\(second)")
            }
        }
        return tree
    }

    @Test("names files in the order of their paths' bytes, whatever ends first", arguments: 1...40)
    func order(seed: Int) throws {
        let tree = try wideTree()
        let walk = try walk(tree.path, width: 1 + seed % 9, seed: UInt64(seed))
        #expect(walk.names.count == 30)
        #expect(walk.names == walk.names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
        #expect(walk.plan.failures.count == 0)
    }

    @Test("holds no more results than its limit, even behind a file that takes for ever")
    func held() throws {
        let tree = try TemporaryTree()
        let count = TreePlan.heldLimit + 500
        try tree.write("0 slow")
        for number in 0..<count { try tree.write("f\(number)") }
        var walk = Walk(tree.path)
        try walk.end(walk.plan.next())  // the listing
        let slow = walk.plan.next()
        #expect(try walk.endAll() == TreePlan.heldLimit - 1)
        #expect(walk.output.isEmpty)
        try walk.end(slow)
        #expect(walk.count == TreePlan.heldLimit)
        #expect(walk.plan.next() != nil)
        #expect(walk.plan.peakHeld == TreePlan.heldLimit)
    }

    @Test("goes on behind a directory that was listed too late, with the held results full")
    func lateDirectory() throws {
        let tree = try TemporaryTree()
        for number in 0..<10 { try tree.write("a/\(number)") }
        for number in 0..<TreePlan.heldLimit + 10 { try tree.write("b/\(number)") }
        var walk = Walk(tree.path)
        try walk.end(walk.plan.next())  // the root
        let late = walk.plan.next()
        try walk.endAll()
        #expect(walk.output.isEmpty)
        try walk.end(late)
        try walk.endAll()
        #expect(walk.plan.isFinished)
        #expect(walk.count == TreePlan.heldLimit + 20)
    }

    @Test("reports a directory that is gone, and goes on")
    func gone() throws {
        let tree = try TemporaryTree()
        try tree.write("a/1")
        try tree.write("b/1")
        var walk = Walk(tree.path)
        try walk.end(walk.plan.next())  // the root
        _ = try Command("rm", ["-r", "\(tree.path)/a"]).run()
        try walk.endAll()
        #expect(walk.plan.isFinished)
        #expect(walk.plan.failures.kept.map(\.path) == [Array("\(tree.path)/a".utf8)])
        #expect(walk.plan.failures.kept.map(\.number) == [ENOENT])
        #expect(walk.count == 1)
    }

    @Test("is through at once when there is nothing to do")
    func nothing() {
        #expect(TreePlan(Roots([])).isFinished)
    }

    @Test("survives a tree deeper than any path may be long")
    func deep() throws {
        let tree = try TemporaryTree()
        let name = String(repeating: "d", count: 200)
        let script = """
            cd '\(tree.path)' && for i in $(seq 60); do mkdir \(name) && cd \(name) || exit 1; done && echo deep > file
            """
        try #require(try Command("bash", ["-c", script]).run().status == 0)
        let walk = try walk(tree.path, width: 4, seed: 1)
        #expect(walk.plan.failures.count == 0)
        #expect(walk.names.map(\.utf8.count) == [tree.path.utf8.count + 60 * 201 + 5])
    }
}

@Suite("The paths that a user names")
struct RootsTests {
    private func names(_ paths: [String], in tree: TemporaryTree) -> [String] {
        let roots = Roots(paths.map { Array("\(tree.path)/\($0)".utf8) })
        let prefix = tree.path.utf8.count + 1
        return roots.listing.entries.map {
            String(decoding: roots.listing.name(of: $0).dropFirst(prefix), as: UTF8.self)
        }
    }

    @Test("are taken in order, each file once")
    func once() throws {
        let tree = try TemporaryTree()
        for name in ["a/b/c", "a/b.txt", "a-", "b"] { try tree.write(name) }
        #expect(names(["b", "a", "a-"], in: tree) == ["a-", "a/", "b"])
        #expect(names(["b", "b", "b"], in: tree) == ["b"])
        #expect(names(["a", "a/b", "a/b/c", "a/"], in: tree) == ["a/"])
        #expect(names(["a/b/c", "a/b.txt", "a/b"], in: tree) == ["a/b.txt", "a/b/"])
        #expect(names(["a", "a/../b", "a/./b"], in: tree) == ["a/", "a/../b", "a/./b/"])
        #expect(names([""], in: tree) == [""])
    }

    @Test("through a link are not covered by what is beside the link")
    func links() throws {
        let tree = try TemporaryTree()
        try tree.write("a/b/c")
        try tree.link("a/l", to: "b")
        #expect(names(["a", "a/l/c"], in: tree) == ["a/", "a/l/c"])
        #expect(names(["a", "a/l/"], in: tree) == ["a/", "a/l/"])
        #expect(names(["a/l"], in: tree) == [])
        #expect(Roots([Array("\(tree.path)/a/l".utf8)]).failures.kept.map(\.number) == [Failure.linkedDirectory])
        #expect(Roots([Array("\(tree.path)/a/l/".utf8)]).followed == [0])
        #expect(Roots([Array("\(tree.path)/a/b/".utf8)]).followed.isEmpty == false)
    }

    @Test("that are missing are failures")
    func missing() {
        let roots = Roots([Array("/nonexistent/x".utf8), []])
        #expect(roots.failures.kept.map(\.number) == [ENOENT, ENOENT])
    }
}
