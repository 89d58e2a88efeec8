/// Counts the objects that are alive: what a leaked or twice released closure gives away.
package final class Census: Sendable {
    fileprivate let living = Counter()
    fileprivate let deaths = Counter()

    package init() {}

    package var alive: Int { living.count }
    package var died: Int { deaths.count }

    package func newborn() -> Tracked {
        Tracked(census: self)
    }
}

/// An object that its census counts.
package final class Tracked: Sendable {
    private let census: Census

    fileprivate init(census: Census) {
        self.census = census
        census.living.add()
    }

    deinit {
        census.living.add(-1)
        census.deaths.add()
    }

    package func touch() {}
}
