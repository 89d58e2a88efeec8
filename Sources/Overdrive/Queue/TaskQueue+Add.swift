// Owns the functions that add tasks to a queue. Programs call them. Scheduling of a task is in AnyTask.

public import OverdriveCore

extension TaskQueue {
    /// Adds a task. It runs in the queue's order once its dependencies have finished.
    ///
    ///     queue.add(task: GetLogoTask())
    ///
    /// The queue retains the task until it has finished. A task cancelled before has already finished.
    ///
    /// - Parameter task: A task that the program has not added or started; otherwise the call traps. A dependency
    ///   that its dependent brought to another queue, and that has not begun, runs on this queue. The other queue
    ///   also retains that dependency until it has finished.
    /// - Ordering: The order of a closure that is submitted when the task's dependencies have finished.
    /// - Threading: Any thread.
    /// - Cost: A submission, and an entry in the queue's list of tasks. It allocates only if the queue times its
    ///   tasks or tracks its progress.
    public func add<T>(task: Task<T>) {
        task.enqueue(on: self, byProgram: true, mayRepeat: false)
    }

    /// Adds a task of any result type; see ``add(task:)-(Task<T>)``.
    ///
    ///     for task in preparations { queue.add(task: task) }
    ///
    /// - Parameter task: A task that the program has not added or started; otherwise the call traps.
    /// - Ordering: The order of a closure that is submitted when the task's dependencies have finished.
    /// - Threading: Any thread.
    /// - Cost: A submission, and an entry in the queue's list of tasks. It allocates only if the queue times its
    ///   tasks or tracks its progress.
    public func add(task: AnyTask) {
        task.enqueue(on: self, byProgram: true, mayRepeat: false)
    }

    /// Adds a closure as a task.
    ///
    ///     queue.add { try render(page) }.onValue { show($0) }
    ///
    /// - Returns: The task, for handlers, `value`, and dependents.
    /// - Ordering: The order of a closure submitted by `async`.
    /// - Threading: Any thread.
    /// - Cost: The task, the closure's captures and a submission.
    @inlinable
    @discardableResult
    public func add<T: Sendable>(_ body: sending @escaping () throws -> T) -> Task<T> {
        let task = Task.inline(body)
        add(task: task)
        return task
    }

    /// Adds tasks, and optionally waits for them.
    ///
    /// - Parameters:
    ///   - tasks: Tasks of any result types, in the order in which they are added.
    ///   - waitUntilFinished: Whether the calling thread blocks until all tasks have finished. A spare replaces a
    ///     blocked worker.
    /// - Ordering: The order of single additions. After a wait, the writes of the tasks are visible.
    /// - Threading: Any thread except in the body of one of the tasks, which would wait for itself.
    /// - Cost: A submission for each task, and a wait for each unfinished task.
    @available(*, noasync, message: "it may block the thread: leave waitUntilFinished out, and await drained()")
    public func add(tasks: [AnyTask], waitUntilFinished: Bool) {
        add(tasks: tasks)
        if waitUntilFinished {
            // The last task usually finishes last. Waiting for it first avoids a wake-up for each of the others.
            for task in tasks.reversed() { task.waitUntilFinished() }
        }
    }

    /// Adds tasks of any result types, in order.
    ///
    /// - Parameter tasks: The tasks.
    /// - Ordering: The order of single additions.
    /// - Threading: Any thread.
    /// - Cost: A submission for each task.
    public func add(tasks: [AnyTask]) {
        unsafe tasks.withUnsafeBufferPointer { tasks in
            // The array retains the tasks during the loop.
            for index in tasks.indices {
                unsafe Unmanaged.passUnretained(tasks[index])._withUnsafeGuaranteedRef {
                    $0.enqueue(on: self, byProgram: true, mayRepeat: false)
                }
            }
        }
    }

    /// The unfinished tasks of the queue, in no particular order.
    public var tasks: [AnyTask] {
        QueueTasks.of(self).all
    }

    /// Whether the queue measures the duration of tasks added from now on; see ``AnyTask/duration``.
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

    /// The delegate, called for all tasks that are added from now on. The queue does not retain it.
    public weak var delegate: (any TaskQueueDelegate)? {
        get { QueueTasks.of(self).delegate }
        set { QueueTasks.of(self).setDelegate(newValue, of: self) }
    }
}
