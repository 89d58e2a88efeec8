public import CWorkloads

/// What a loop does with each index: a type of its own, and no closure, so that a contender's loop over a part, which is
/// generic over it, has it inlined whatever thread runs the part.
public protocol LoopBody: Sendable {
    /// In so many strides for each worker who has no better way divides the loop.
    static var stridesPerWorker: Int { get }
    func run(_ index: Int)
}

extension LoopBody {
    public static var stridesPerWorker: Int { 64 }
}

/// y = 1.5 x² + 0.5 x + 2
public struct FlopsBody: LoopBody {
    public let x, y: SharedBuffer<Double>

    public init(_ count: Int) {
        (x, y) = (SharedBuffer(count, 0), SharedBuffer(count, 0))
        for i in 0..<count { x[i] = Double(i % 1024) }
    }

    /// In Swift: a function of C's is called for each number, where its header comes through another module.
    @inlinable @inline(__always)
    public func run(_ index: Int) {
        let value = x[index]
        y[index] = 1.5 * value * value + 0.5 * value + 2
    }

    public func check() {
        for i in 0..<x.count where y[i] != wl_flops(x[i]) { Harness.fail("loop-flops: y[\(i)] is \(y[i])") }
    }
}

/// Nothing.
public struct EmptyBody: LoopBody {
    @inlinable public init() {}

    @inlinable @inline(__always)
    public func run(_ index: Int) { wl_nothing(UInt64(index)) }
}

/// Little at the front, much at the end.
public struct ImbalancedBody: LoopBody {
    /// A third of the work is in the last hundredth: one of 64 would be waited for.
    public static var stridesPerWorker: Int { 512 }

    public let count: UInt64

    @inlinable public init(_ count: Int) { self.count = UInt64(count) }

    @inlinable @inline(__always)
    public func run(_ index: Int) { wl_nothing(wl_spin(UInt64(index), wl_imbalanced_steps(UInt64(index), count))) }
}

/// The same number of steps each.
public struct GrainBody: LoopBody {
    public let steps: UInt64

    @inlinable public init(_ steps: Int) { self.steps = UInt64(steps) }

    @inlinable @inline(__always)
    public func run(_ index: Int) { wl_nothing(wl_spin(UInt64(index), steps)) }
}

/// Marks the index, to check that every one is visited once.
public struct MarkBody: LoopBody {
    public let marks: SharedBuffer<UInt8>

    public init(_ count: Int) { marks = SharedBuffer(count, 0) }

    @inlinable @inline(__always)
    public func run(_ index: Int) { marks[index] &+= 1 }

    /// How many were visited exactly once.
    public var once: UInt64 { (0..<marks.count).reduce(0) { $0 + (marks[$1] == 1 ? 1 : 0) } }
}
