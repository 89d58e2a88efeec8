extension Parallel {
    /// Runs two closures, at the same time if a worker is free.
    ///
    ///     Parallel.invoke { loadMesh() } _: { loadTextures() } _: { loadSounds() }
    ///
    /// - Parameters: What to run, each once.
    /// - Ordering: In no order. What they wrote is visible afterwards.
    /// - Threading: Any thread, which takes part.
    /// - Cost: A fork for each but the first.
    @inlinable
    @inline(__always)
    public static func invoke(_ a: @Sendable () -> Void, _ b: @Sendable () -> Void) {
        _ = join(a, b)
    }

    /// Runs three closures, at the same time if workers are free.
    @inlinable
    public static func invoke(_ a: @Sendable () -> Void, _ b: @Sendable () -> Void, _ c: @Sendable () -> Void) {
        _ = join(a, { invoke(b, c) })
    }

    /// Runs four closures, at the same time if workers are free.
    @inlinable
    public static func invoke(
        _ a: @Sendable () -> Void, _ b: @Sendable () -> Void, _ c: @Sendable () -> Void, _ d: @Sendable () -> Void
    ) {
        _ = join({ invoke(a, b) }, { invoke(c, d) })
    }

    /// Runs all closures of an array, at the same time as far as workers are free.
    @inlinable
    public static func invoke(_ bodies: [@Sendable () -> Void]) {
        forEach(0..<bodies.count) { bodies[$0]() }
    }
}
