internal import OverdriveCore
internal import Synchronization

/// A member of a ``TaskGroup``: a task, or another group.
public protocol TaskGroupMember: AnyObject, Sendable {
    /// Starts it, as `Task.start()` does.
    func start()
    /// Cancels it, as `Task.cancel()` does.
    func cancel()
}

/// Holds tasks, by a name each where they have one, and cancels them when it goes.
///
///     let group = TaskGroup(policy: .ignore)
///     fetchIssues().onUpdate { show($0) }.registerIn(group, taskId: "issues")
///
/// A group ties work to the life of an object. When the group is released, it cancels its tasks, whoever else holds
/// them. It releases each task when the task has finished.
///
/// - Threading: Safe from any thread.
public final class TaskGroup: TaskGroupMember {
    /// The treatment of a task with the name of an unfinished task.
    public enum Policy: Sendable {
        /// The new one is not started, and not held.
        case ignore
        /// The old one is cancelled.
        case replace
    }

    /// The treatment of a second task of a name.
    public let policy: Policy

    /// Whether tasks are started when they are registered; else by ``start()``.
    public let startsImmediately: Bool

    private struct Content {
        var members: [String: (member: any TaskGroupMember, number: UInt64)] = [:]
        var nextNumber: UInt64 = 0
    }
    private let content = Locked(Content())

    /// An empty group.
    ///
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: One allocation.
    public init(policy: Policy = .ignore, startsImmediately: Bool = true) {
        self.policy = policy
        self.startsImmediately = startsImmediately
    }

    deinit {
        for member in inOrder { member.cancel() }
    }

    private var inOrder: [any TaskGroupMember] {
        content.withLock { $0.members.values.sorted { $0.number < $1.number }.map(\.member) }
    }

    /// Starts a task and holds it until it has finished, whatever its result.
    ///
    /// - Parameters:
    ///   - task: A task that has not begun, or one that has: it is held all the same.
    ///   - taskId: A name that one member at a time has; nil for none.
    /// - Returns: Whether the group holds the task: false if an unfinished task has that name and the policy is
    ///   `.ignore`.
    /// - Ordering: The task is held before it is started; one that it replaces is cancelled before that.
    /// - Threading: Any thread, on which a task may begin that is started here.
    /// - Cost: A lock, and a handler of the task.
    @discardableResult
    public func register(_ task: AnyTask, taskId: String? = nil) -> Bool {
        guard let id = hold(task, taskId) else { return false }
        task.whenOver { [weak self, weak task] in self?.letGo(of: task, id) }
        if startsImmediately { task.start() }
        return true
    }

    /// Holds something of your own that can be started and cancelled, and starts it. It is held until another one replaces
    /// it, or the group goes.
    ///
    /// - Returns: Whether it is held.
    /// - Ordering: It is held before it is started; one that it replaces is cancelled before that.
    /// - Threading: Any thread, on which it is started.
    /// - Cost: A lock and an entry in a dictionary.
    @discardableResult
    public func register(_ member: any TaskGroupMember, taskId: String? = nil) -> Bool {
        if let task = member as? AnyTask { return register(task, taskId: taskId) }
        if let group = member as? TaskGroup { return register(group, taskId: taskId) }
        guard hold(member, taskId) != nil else { return false }
        if startsImmediately { member.start() }
        return true
    }

    /// Held while a group comes into another one: two threads would not see each other's half of a circle. Lock order:
    /// this lock before that of a group's content.
    private static let nesting = Locked<UInt8>(0)

    /// Whether a group is this one, or somewhere in it.
    ///
    /// - Parameter seen: The members that were looked at. The caller releases them after ``nesting``, because the
    ///   deinitialiser of a member may register groups.
    private func contains(_ group: TaskGroup, seen: inout [any TaskGroupMember]) -> Bool {
        var (pending, known): ([TaskGroup], Set<ObjectIdentifier>) = ([self], [])
        while let next = pending.popLast() {
            if next === group { return true }
            guard known.insert(ObjectIdentifier(next)).inserted else { continue }
            let members = next.inOrder
            seen += members
            pending += members.compactMap { $0 as? TaskGroup }
        }
        return false
    }

    /// Holds another group, which is started and cancelled with this one.
    ///
    /// - Parameters:
    ///   - group: One that does not hold this one, however far down, else it traps.
    ///   - taskId: A name that one member at a time has; nil for none.
    /// - Returns: Whether it is held.
    /// - Ordering: It is held before it is started; one that it replaces is cancelled before that.
    /// - Threading: Any thread, on which it is started.
    /// - Cost: A lock, and a look at each group that the other holds.
    @discardableResult
    public func register(_ group: TaskGroup, taskId: String? = nil) -> Bool {
        var seen: [any TaskGroupMember] = []
        let (id, replaced) = TaskGroup.nesting.withLock { _ in
            if group.contains(self, seen: &seen) {
                trap("TaskGroup.register(_:): a circle of groups. Register the group in another one.")
            }
            return enter(group, taskId)
        }
        withExtendedLifetime(seen) {}
        replaced?.cancel()
        guard id != nil else { return false }
        if startsImmediately { group.start() }
        return true
    }

    private func hold(_ member: any TaskGroupMember, _ taskId: String?) -> String? {
        let (id, replaced) = enter(member, taskId)
        replaced?.cancel()
        return id
    }

    /// Returns the name under which the group holds the member, if it does, and the member to cancel in its place.
    private func enter(_ member: any TaskGroupMember, _ taskId: String?) -> (String?, (any TaskGroupMember)?) {
        content.withLock { content -> (String?, (any TaskGroupMember)?) in
            content.nextNumber += 1
            // A name of ours has a character that no program's should.
            let id = taskId ?? "\u{0}\(content.nextNumber)"
            let old = content.members[id]?.member
            if let old, policy == .ignore, (old as? AnyTask)?.isFinished != true { return (nil, nil) }
            content.members[id] = (member, content.nextNumber)
            return (id, old === member ? nil : old)
        }
    }

    private func letGo(of member: AnyObject?, _ id: String) {
        let held = content.withLock { content -> (any TaskGroupMember)? in
            guard let member, content.members[id]?.member === member else { return nil }
            return content.members.removeValue(forKey: id)?.member
        }
        withExtendedLifetime(held) {}  // given up without the lock
    }

    /// Starts what is held and has not begun.
    ///
    /// - Ordering: In the order in which they were registered.
    /// - Threading: Any thread, on which tasks may begin.
    /// - Cost: A sorted copy of what is held.
    public func start() {
        for member in inOrder { member.start() }
    }

    /// Cancels what is held.
    ///
    /// - Ordering: In the order in which they were registered.
    /// - Threading: Any thread; handlers may run on it.
    /// - Cost: A sorted copy of what is held.
    public func cancel() {
        for member in inOrder { member.cancel() }
    }

    /// How many tasks and groups are held.
    public var count: Int { content.withLock { $0.members.count } }
}

extension TaskGroup: CustomStringConvertible {
    /// The group in one line: how many it holds.
    public var description: String { "TaskGroup (\(count) unfinished)" }
}

extension AnyTask: TaskGroupMember {}

extension Task {
    /// Has a group hold the task, which starts it; see ``TaskGroup/register(_:taskId:)-(AnyTask,_)``.
    ///
    /// - Returns: The task.
    /// - Ordering: The task is held before it is started.
    /// - Threading: Any thread, on which the task may begin.
    /// - Cost: A lock, and a handler of the task.
    @discardableResult
    public final func registerIn(_ group: TaskGroup, taskId: String? = nil) -> Self {
        group.register(self, taskId: taskId)
        return self
    }
}
