public import OverdriveCore

extension TaskQueue {
    /// Adds a task: it runs when it waits for nothing, and its turn has come.
    ///
    ///     queue.add(task: GetLogoTask())
    ///
    /// The queue keeps the task until it has finished. A task that was cancelled before has finished already.
    ///
    /// - Parameter task: A task that no program has added or started; otherwise the call traps. A dependency that
    ///   came with its dependent, and has not begun, runs on this queue; its first queue keeps it until it has
    ///   finished.
    /// - Ordering: As a closure's, from when the task waits for nothing.
    /// - Threading: Any thread.
    /// - Cost: A submission, and a place in the queue's list of tasks. No allocation, but where the queue times its tasks or
    ///   tracks its progress.
    public func add<T>(task: Task<T>) {
        task.enqueue(on: self, byProgram: true, mayRepeat: false)
    }

    /// Adds a task, whatever its result; see ``add(task:)-(Task<T>)``.
    ///
    ///     for task in preparations { queue.add(task: task) }
    ///
    /// - Ordering: As a closure's, from when the task waits for nothing.
    /// - Threading: Any thread.
    /// - Cost: A submission, and a place in the queue's list of tasks. No allocation, but where the queue times its tasks or
    ///   tracks its progress.
    public func add(task: AnyTask) {
        task.enqueue(on: self, byProgram: true, mayRepeat: false)
    }

    /// Adds a closure as a task.
    ///
    ///     queue.add { try render(page) }.onValue { show($0) }
    ///
    /// - Returns: The task, for handlers, `value`, and dependents.
    /// - Ordering: As a closure's.
    /// - Threading: Any thread.
    /// - Cost: The task, the closure's captures and a submission.
    @inlinable
    @discardableResult
    public func add<T: Sendable>(_ body: sending @escaping () throws -> T) -> Task<T> {
        let task = Task.inline(body)
        add(task: task)
        return task
    }

    /// Adds tasks, and waits for them if asked to.
    ///
    /// - Parameters:
    ///   - tasks: Tasks of any results, in the order in which they are added.
    ///   - waitUntilFinished: Blocks the calling thread until all are over. On a worker another one takes its place.
    /// - Ordering: As if they were added one by one; afterwards what they wrote is visible.
    /// - Threading: Any thread but that of one of the tasks' bodies, which would wait for itself.
    /// - Cost: A submission for each, and a wait for each that is not over.
    @available(*, noasync, message: "it may block the thread: leave waitUntilFinished out, and await drained()")
    public func add(tasks: [AnyTask], waitUntilFinished: Bool) {
        add(tasks: tasks)
        if waitUntilFinished {
            // The last first: it mostly ends last, and who waits for one after another is woken for each.
            for task in tasks.reversed() { task.waitUntilFinished() }
        }
    }

    /// Adds tasks of any results, in order.
    ///
    /// - Ordering: As if they were added one by one.
    /// - Threading: Any thread.
    /// - Cost: A submission for each.
    public func add(tasks: [AnyTask]) {
        unsafe tasks.withUnsafeBufferPointer { tasks in
            // The array has them meanwhile.
            for index in tasks.indices {
                unsafe Unmanaged.passUnretained(tasks[index])._withUnsafeGuaranteedRef {
                    $0.enqueue(on: self, byProgram: true, mayRepeat: false)
                }
            }
        }
    }

    /// The tasks that were added and are not over, in no particular order.
    public var tasks: [AnyTask] {
        QueueTasks.of(self).all
    }

    /// Whether the durations of tasks that are added from now on are measured; see ``AnyTask/duration``.
    ///
    ///     queue.timesTasks = true
    ///     for page in pages { queue.add(task: RenderTask(page)) }
    ///     for task in queue.tasks { print(task) }     // RenderTask #3 (executing for 1.20 s)
    ///
    /// - Threading: Any thread.
    public var timesTasks: Bool {
        get { QueueTasks.of(self).timesTasks }
        set { QueueTasks.of(self).timesTasks = newValue }
    }

    /// Is told of the tasks that are added from now on, to their ends. The queue does not keep it.
    public weak var delegate: (any TaskQueueDelegate)? {
        get { QueueTasks.of(self).delegate }
        set { QueueTasks.of(self).setDelegate(newValue, of: self) }
    }
}
