internal import OverdriveCore
internal import Synchronization

/// That one task waits for another.
///
/// It stands in two lists: the dependent's, from ``AnyTask/add(dependency:requiring:)`` on, and the
/// dependency's, from the moment the dependent is on a queue. Each is counted in the dependent's word until
/// it is done: fired by the dependency's end, or removed. Whoever changes `state` to done counts down.
///
/// Shared by threads, each part by one at a time: `nextDependency` belongs to the dependent's list and its
/// lock, `dependent` to whoever links the edge and then to whoever makes it done, `nextDependent` to the
/// dependency's list, `dependency` changes only when the dependent is deinitialised.
final class Edge: Bounced, @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable {
        case idle, linking, linked, done
    }

    var dependency: AnyTask?
    let requirement: AnyTask.DependencyRequirement
    var nextDependency: Edge?
    var nextDependent: Unmanaged<Edge>?
    /// Set from the linking until the edge is done: the dependent stays that long.
    private var dependent: AnyTask?
    private let state = Atomic(State.idle)
    private var isLinked = false

    init(to dependency: AnyTask, requiring requirement: AnyTask.DependencyRequirement) {
        self.dependency = dependency
        self.requirement = requirement
    }

    /// Links the edge into the dependency's list, unless somebody did; the dependency is on a queue afterwards.
    func link(for dependent: AnyTask) {
        guard change(.idle, to: .linking) else { return }
        self.dependent = dependent
        Bounce.run(self)
    }

    /// The dependent waits no longer. False: the dependency was faster, and has counted down.
    func remove() -> Bool {
        // Most have fired when their dependent goes. Acquires what whoever made it done has left.
        if state.load(ordering: .acquiring) == .done { return false }
        if change(.idle, to: .done) || change(.linking, to: .done) { return true }
        guard change(.linked, to: .done) else { return false }
        dependent = nil
        return true
    }

    override func go() {
        if isLinked { fire() } else { finishLinking() }
    }

    private func finishLinking() {
        guard let dependency, let dependent else { return }
        dependency.join(dependent.home)
        isLinked = true
        guard change(.linking, to: .linked) else {
            self.dependent = nil  // it was removed meanwhile
            return
        }
        if !dependency.attach(self) { fire() }
    }

    /// The dependency is over.
    private func fire() {
        guard change(.linked, to: .done), let dependent = dependent.take() else { return }
        if requirement == .success, let dependency, let error = dependency.failure {
            dependent.fail(DependencyError(dependency: dependency.title, error: error))
        }
        dependent.take(.release)
    }

    private func change(_ old: State, to new: State) -> Bool {
        // Acquires what the last owner wrote, and hands over what this one did.
        state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }
}
