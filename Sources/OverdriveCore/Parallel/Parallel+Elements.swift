// Owns the collection view of a buffer. Programs and the operations on spans make it. It never copies or frees memory.

extension Parallel {
    /// The elements of a buffer as an input of ``Parallel``'s operations. Buffers are not `Sendable` themselves.
    ///
    ///     let peak = samples.withUnsafeBufferPointer { unsafe Parallel.max(Parallel.Elements($0)) }
    ///     let total = samples.span.withUnsafeBufferPointer { unsafe Parallel.reduce(Parallel.Elements($0), 0, &+) }
    ///
    /// - Threading: Safe from any thread, while no thread writes the memory.
    @safe @frozen
    public struct Elements<Element: Sendable>: RandomAccessCollection, @unchecked Sendable {
        @usableFromInline let buffer: UnsafeBufferPointer<Element>

        /// The elements of a buffer, which must outlive the value.
        ///
        /// - Ordering: The writes of the calling thread are visible to the operation's closures.
        /// - Threading: Any thread. No thread may write the memory during an operation.
        /// - Cost: None.
        @unsafe
        @inlinable
        @inline(__always)
        public init(_ buffer: UnsafeBufferPointer<Element>) { unsafe self.buffer = buffer }

        @inlinable public var startIndex: Int { 0 }
        @inlinable public var endIndex: Int { unsafe buffer.count }
        @inlinable public subscript(_ index: Int) -> Element { unsafe buffer[index] }
    }
}
