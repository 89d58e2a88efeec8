// Asynchronous closures, a limited number of them at a time: child tasks that suspend, where loops hold a thread.

extension Parallel {
    /// The results of an asynchronous closure for every element, in the elements' order, with at most `limit` calls at a
    /// time.
    ///
    ///     let pages = try await Parallel.map(urls, atMost: 8) { url in try await client.get(url) }
    ///
    /// - Parameters:
    ///   - elements: The elements. The next one is taken when a call may begin.
    ///   - limit: The most calls at a time, 1 or more, else it traps.
    ///   - isolation: The isolation of the caller.
    ///   - transform: Called once for each element, in a child task of the caller, unless an error comes first.
    /// - Returns: The results.
    /// - Throws: The first error, or `CancellationError` if the calling task was cancelled. The other calls are cancelled, and
    ///   have ended then.
    /// - Ordering: Calls begin in the elements' order.
    /// - Threading: Any task; no thread is held. Calls run on the caller's executor preference.
    /// - Cost: A child task for each element.
    public static func map<S: Sequence, R: Sendable>(
        _ elements: S, atMost limit: Int, isolation: isolated (any Actor)? = #isolation,
        _ transform: @escaping @Sendable (S.Element) async throws -> R
    ) async throws -> [R] where S.Element: Sendable {
        if limit < 1 { trap("Parallel.map(_:atMost:_:): out of range (\(limit)). Choose 1 or more.") }
        var results: [R?] = []
        try await withThrowingTaskGroup(of: (Int, R).self) { group in
            var iterator = elements.makeIterator()
            while let element = iterator.next() {
                let place = results.count
                if place >= limit, let (done, result) = try await group.next() { results[done] = result }
                try Task.checkCancellation()
                results.append(nil)
                group.addTask { (place, try await transform(element)) }
            }
            while let (done, result) = try await group.next() { results[done] = result }
        }
        return results.compactMap { $0 }
    }

    /// Calls an asynchronous closure for every element, with at most `limit` calls at a time.
    ///
    ///     try await Parallel.forEach(messages, atMost: 4) { message in try await send(message) }
    ///
    /// - Parameters:
    ///   - elements: The elements. The next one is taken when a call may begin.
    ///   - limit: The most calls at a time, 1 or more, else it traps.
    ///   - isolation: The isolation of the caller.
    ///   - body: Called once for each element, in a child task of the caller, unless an error comes first.
    /// - Throws: The first error, or `CancellationError` if the calling task was cancelled. The other calls are cancelled, and
    ///   have ended then.
    /// - Ordering: Calls begin in the elements' order.
    /// - Threading: Any task; no thread is held. Calls run on the caller's executor preference.
    /// - Cost: A child task for each element.
    public static func forEach<S: Sequence>(
        _ elements: S, atMost limit: Int, isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (S.Element) async throws -> Void
    ) async throws where S.Element: Sendable {
        if limit < 1 { trap("Parallel.forEach(_:atMost:_:): out of range (\(limit)). Choose 1 or more.") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var (iterator, begun) = (elements.makeIterator(), 0)
            while let element = iterator.next() {
                if begun >= limit { try await group.next() }
                try Task.checkCancellation()
                begun += 1
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}
