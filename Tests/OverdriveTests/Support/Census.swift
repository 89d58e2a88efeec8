/// Counts the objects that are alive: what a leaked or twice released closure gives away.
final class Census: Sendable {
    fileprivate let living = Counter()
    fileprivate let deaths = Counter()

    var alive: Int { living.count }
    var died: Int { deaths.count }

    func newborn() -> Tracked {
        Tracked(census: self)
    }
}

/// An object that its census counts.
final class Tracked: Sendable {
    private let census: Census

    fileprivate init(census: Census) {
        self.census = census
        census.living.add()
    }

    deinit {
        census.living.add(-1)
        census.deaths.add()
    }

    func touch() {}
}
