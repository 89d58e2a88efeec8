// Owns groups of tasks that are cancelled together. Programs call it; a finished task calls `letGo` through
// `whenOver`. A group never runs a task itself.

public import OverdriveCore
internal import Synchronization

/// A member of a ``TaskGroup``: a task, or another group.
public protocol TaskGroupMember: AnyObject, Sendable {
    /// Starts the member, as `Task.start()` does.
    func start()
    /// Cancels the member, as `Task.cancel()` does.
    func cancel()
}

/// Retains tasks, optionally by name, and cancels them when the group is released.
///
///     let group = TaskGroup(policy: .ignore)
///     fetchIssues().onUpdate { show($0) }.registerIn(group, taskId: "issues")
///
/// A group ties work to the lifetime of an object. When the group is released, it cancels its tasks, even if other
/// code retains them. The group releases each task when the task has finished.
///
/// - Threading: Safe from any thread.
public final class TaskGroup: TaskGroupMember {
    /// The treatment of a task whose name belongs to an unfinished task.
    public enum Policy: Sendable {
        /// The new task is not started and not retained.
        case ignore
        /// The old task is cancelled and replaced.
        case replace
    }

    /// The treatment of a task whose name belongs to an unfinished task.
    public let policy: Policy

    /// Whether tasks start when they are registered. If false, ``start()`` starts them.
    public let startsImmediately: Bool

    /// Whether the group keeps the outcomes of its tasks; see ``outcomes``.
    public let keepsOutcomes: Bool

    /// The outcome of a task that the group has held.
    public struct Outcome: Sendable {
        /// The task's name in the group, if it has one.
        public let taskId: String?
        /// The outcome without its value.
        public let result: Result<Void, any Error>
    }

    private struct Content {
        var members: [String: (member: any TaskGroupMember, number: UInt64)] = [:]
        var nextNumber: UInt64 = 0
        var outcomes: [(number: UInt64, outcome: Outcome)] = []
    }
    private let content = Locked(Content())

    /// Entered once for each task that was held, until the task has finished and its outcome is kept.
    private let unfinished = WaitGroup()

    /// Creates an empty group.
    ///
    /// - Parameters:
    ///   - policy: The treatment of a task whose name belongs to an unfinished task.
    ///   - startsImmediately: Whether tasks start when they are registered.
    ///
    /// - Parameters:
    ///   - policy: The treatment of a second task of a name.
    ///   - startsImmediately: Whether tasks are started when they are registered.
    ///   - keepsOutcomes: Whether ``outcomes`` collects the outcomes of tasks that have finished.
    /// - Ordering: None.
    /// - Threading: Any thread.
    /// - Cost: Three allocations.
    public init(policy: Policy = .ignore, startsImmediately: Bool = true, keepsOutcomes: Bool = false) {
        self.policy = policy
        self.startsImmediately = startsImmediately
        self.keepsOutcomes = keepsOutcomes
    }

    deinit {
        for member in inOrder { member.cancel() }
    }

    private var inOrder: [any TaskGroupMember] {
        content.withLock { $0.members.values.sorted { $0.number < $1.number }.map(\.member) }
    }

    /// Starts a task and retains it until it has finished, whatever its result.
    ///
    /// - Parameters:
    ///   - task: The task. It may already have begun.
    ///   - taskId: A name, unique among the members of the group; nil for none.
    /// - Returns: Whether the group retains the task: false if an unfinished task has that name and the policy is
    ///   `.ignore`.
    /// - Ordering: The group retains the task before it starts the task. A replaced task is cancelled before that.
    /// - Threading: Any thread. The task may begin on the calling thread.
    /// - Cost: A lock, and a handler of the task.
    @discardableResult
    public func register(_ task: AnyTask, taskId: String? = nil) -> Bool {
        guard let (id, number) = hold(task, taskId) else { return false }
        unfinished.enter()
        task.whenOver { [weak self, weak task, unfinished] in
            self?.letGo(of: task, id)
            self?.note(Outcome(taskId: taskId, result: task?.outcome ?? .failure(CancellationError())), number)
            unfinished.leave()
        }
        if startsImmediately { task.start() }
        return true
    }

    /// Retains any object that can be started and cancelled, and starts it.
    ///
    /// The group retains the member until another member replaces it, or until the group is released.
    ///
    /// - Parameters:
    ///   - member: The object.
    ///   - taskId: A name, unique among the members of the group; nil for none.
    /// - Returns: Whether the group retains the member.
    /// - Ordering: The group retains the member before it starts the member. A replaced member is cancelled before
    ///   that.
    /// - Threading: Any thread. The member starts on the calling thread.
    /// - Cost: A lock and an entry in a dictionary.
    @discardableResult
    public func register(_ member: any TaskGroupMember, taskId: String? = nil) -> Bool {
        if let task = member as? AnyTask { return register(task, taskId: taskId) }
        if let group = member as? TaskGroup { return register(group, taskId: taskId) }
        guard hold(member, taskId) != nil else { return false }
        if startsImmediately { member.start() }
        return true
    }

    /// Held while a group is registered in another one. Without this lock, two threads could each add one half of a
    /// cycle of groups. Lock order: this lock before the lock of a group's content.
    private static let nesting = Locked<UInt8>(0)

    /// Whether `group` is this group, or a member of it at any depth.
    ///
    /// - Parameter seen: The visited members. The caller releases them after ``nesting``, because the deinitialiser
    ///   of a member may register groups.
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

    /// Retains another group, which starts and is cancelled with this one.
    ///
    /// - Parameters:
    ///   - group: The other group. Traps if it contains this group at any depth.
    ///   - taskId: A name, unique among the members of the group; nil for none.
    /// - Returns: Whether the group retains the other one.
    /// - Ordering: The group retains the member before it starts the member. A replaced member is cancelled before
    ///   that.
    /// - Threading: Any thread. The members of the other group start on the calling thread.
    /// - Cost: A lock, and a visit of each group that the other one contains.
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

    private func hold(_ member: any TaskGroupMember, _ taskId: String?) -> (id: String, number: UInt64)? {
        let (held, replaced) = enter(member, taskId)
        replaced?.cancel()
        return held
    }

    private func note(_ outcome: Outcome, _ number: UInt64) {
        if keepsOutcomes { content.withLock { $0.outcomes.append((number, outcome)) } }
    }

    /// Returns the name and the number under which the group holds the member, if it does, and the member to cancel in its
    /// place.
    private func enter(
        _ member: any TaskGroupMember, _ taskId: String?
    ) -> ((id: String, number: UInt64)?, (any TaskGroupMember)?) {
        content.withLock { content -> ((id: String, number: UInt64)?, (any TaskGroupMember)?) in
            content.nextNumber += 1
            // A generated name begins with a NUL character, which names of programs should not contain.
            let id = taskId ?? "\u{0}\(content.nextNumber)"
            let old = content.members[id]?.member
            if let old, policy == .ignore, (old as? AnyTask)?.isFinished != true { return (nil, nil) }
            content.members[id] = (member, content.nextNumber)
            return ((id, content.nextNumber), old === member ? nil : old)
        }
    }

    private func letGo(of member: AnyObject?, _ id: String) {
        let held = content.withLock { content -> (any TaskGroupMember)? in
            guard let member, content.members[id]?.member === member else { return nil }
            return content.members.removeValue(forKey: id)?.member
        }
        withExtendedLifetime(held) {}  // Released after the lock.
    }

    /// Starts all members that have not begun.
    ///
    /// - Ordering: Members start in the order of registration.
    /// - Threading: Any thread. Tasks may begin on the calling thread.
    /// - Cost: A sorted copy of the list of members.
    public func start() {
        for member in inOrder { member.start() }
    }

    /// Cancels all members.
    ///
    /// - Ordering: Members are cancelled in the order of registration.
    /// - Threading: Any thread. Handlers may run on the calling thread.
    /// - Cost: A sorted copy of the list of members.
    public func cancel() {
        for member in inOrder { member.cancel() }
    }

    // MARK: - Waiting

    /// The outcomes of the tasks that have finished, in the order in which the tasks were registered. Empty unless the group
    /// was made with `keepsOutcomes`. Groups inside this one keep their own.
    public var outcomes: [Outcome] {
        content.withLock { $0.outcomes }.sorted { $0.number < $1.number }.map(\.outcome)
    }

    /// Suspends until every task that the group and the groups in it have held has finished.
    ///
    ///     let group = TaskGroup(keepsOutcomes: true)
    ///     for page in pages { fetch(page).registerIn(group, taskId: page.name) }
    ///     for outcome in await group.finished() where outcome.result.error != nil { print(outcome.taskId ?? "", "failed") }
    ///
    /// A task that was not started yet is waited for, too. A member that is no task and no group is not.
    ///
    /// - Returns: ``outcomes``: empty unless the group was made with `keepsOutcomes`.
    /// - Ordering: The writes of the tasks' bodies are visible. Tasks that are registered during the wait may be waited for.
    /// - Threading: Any task of Swift's; no thread is held. The wait keeps the group.
    /// - Cost: A load if every task has finished; otherwise a suspension for each group.
    @discardableResult
    public func finished() async -> [Outcome] {
        await unfinished.wait()
        for group in groups { await group.finished() }
        return outcomes
    }

    /// Suspends until every task that the group and the groups in it have held has finished, but no longer than `timeout`.
    ///
    /// - Parameter timeout: The longest wait; zero or less only looks.
    /// - Returns: `.success`, or `.timedOut` if a task had not finished.
    /// - Ordering: As of ``finished()``.
    /// - Threading: Any task of Swift's; no thread is held.
    /// - Cost: A load if every task has finished; otherwise a suspension and a timer for each group.
    public func finished(timeout: Duration) async -> WaitGroup.WaitResult {
        let deadline = ContinuousClock.now + timeout
        if await unfinished.wait(timeout: timeout) == .timedOut { return .timedOut }
        for group in groups where await group.finished(timeout: ContinuousClock.now.duration(to: deadline)) == .timedOut {
            return .timedOut
        }
        return .success
    }

    /// Blocks until every task that the group and the groups in it have held has finished.
    ///
    /// - Ordering: As of ``finished()``.
    /// - Threading: Any thread but in a task of the group, which would wait for itself. A spare replaces a waiting worker.
    /// - Cost: A load if every task has finished; otherwise a sleep in the kernel for each group.
    @available(*, noasync, message: "it blocks the thread: write await group.finished()")
    public func waitUntilFinished() {
        _ = unfinished.wait(overriding: nil, nil, as: "for a task group")
        for group in groups { group.waitUntilFinished() }
    }

    private var groups: [TaskGroup] { inOrder.compactMap { $0 as? TaskGroup } }

    /// The number of tasks and groups that the group retains.
    public var count: Int { content.withLock { $0.members.count } }
}

extension TaskGroup: CustomStringConvertible {
    /// The group in one line, with the number of its members.
    public var description: String { "TaskGroup (\(count) unfinished)" }
}

extension AnyTask: TaskGroupMember {}

extension Task {
    /// Registers the task in a group, which starts it; see ``TaskGroup/register(_:taskId:)-(AnyTask,_)``.
    ///
    /// - Returns: The task.
    /// - Ordering: The group retains the task before it starts the task.
    /// - Threading: Any thread. The task may begin on the calling thread.
    /// - Cost: A lock, and a handler of the task.
    @discardableResult
    public final func registerIn(_ group: TaskGroup, taskId: String? = nil) -> Self {
        group.register(self, taskId: taskId)
        return self
    }
}
