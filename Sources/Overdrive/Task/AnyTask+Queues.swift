internal import OverdriveCore
internal import Synchronization

/// A task on a queue: how it comes there, moves to another one, and gets a worker.
extension AnyTask {
    /// The queue that the task is on, or `.global()`.
    final var assignedQueue: TaskQueue { chosenQueue ?? lazyQueue.load() ?? .global() }

    /// Where the program added the task, in place of the queue to which a dependent had brought it.
    private var chosenQueue: TaskQueue? {
        @inline(__always) get { lazyExtras.isSet ? chosenQueueInExtras : nil }
    }

    private var chosenQueueInExtras: TaskQueue? {
        // Acquires the field, which is not changed any more.
        let isMoved = lazyExtras.withReference { $0.isMoved.load(ordering: .acquiring) } ?? false
        return isMoved ? extras?.locked { $0.chosenQueue } : nil
    }

    /// The program adds the task to a queue, and a dependent has brought it to another one, or is about to: unless it has
    /// begun, it runs where the program says. Both queues keep it until it is over.
    private func move(to queue: TaskQueue, from stored: TaskQueue, mayRepeat: Bool) {
        guard standing.phase < .executing else { return markAdded(mayRepeat: mayRepeat) }
        let extras = makeExtras()
        extras.locked { $0.chosenQueue = $0.chosenQueue ?? queue }
        // Before the task can become ready by this thread's step: whoever submits it then does so here.
        extras.isMoved.store(true, ordering: .sequentiallyConsistent)
        QueueTasks.with(queue) { $0.keepMoved(self, in: queue) }
        let taken = join(stored, .add(byProgram: true))
        if taken.actions.isEmpty { markAdded(mayRepeat: mayRepeat) }
        perform(taken.actions, byProducer: true)
        let phase = standingInFull.phase
        // It may have been cancelled meanwhile.
        if phase == .finished { leaveChosenQueue() }
        // The place that it has in the other queue is given up: whoever comes to it finds that the task has moved. One that
        // becomes ready later is submitted here by whoever makes it so.
        if phase == .ready, taken.actions == .accept { submit(byProducer: true) }
    }

    /// The task is over: the queue to which it moved keeps it no longer.
    final func leaveChosenQueue() {
        guard let queue = chosenQueue else { return }
        endProgress()
        if let place = extras?.locked({ $0.chosenPlace.take() }) {
            QueueTasks.with(queue) { $0.leaveMoved(self, at: place) }
        }
    }

    /// Whether the task runs on another queue than that to whose tasks it first came.
    final func hasMoved(from tasks: QueueTasks) -> Bool {
        guard let chosenQueue else { return false }
        return QueueTasks.of(chosenQueue) !== tasks
    }

    /// Whether a queue has been chosen.
    final var isOnQueue: Bool { lazyQueue.isSet }

    /// Whether only who holds the task can finish it: it was started without a queue, its body has returned, and nobody
    /// has said that he will speak for it. So those that wait for it do not keep it.
    final func isForgettable(in standing: TaskState) -> Bool {
        standing.phase == .executing && !standing.isInBody && !standing.isSettled && !isOnQueue
            && extras?.locked { $0.isSpokenFor } != true
    }

    /// Brings a dependency to the task's queue, unless it is on one or was started.
    final func bring(_ dependency: AnyTask) {
        let brought: Void? = lazyQueue.withReference { dependency.join($0) }
        if brought == nil { dependency.join(.global()) }
    }

    /// The task is brought to a queue: only if it is on none yet.
    final func join(_ queue: TaskQueue) {
        guard standing.phase == .initialized, !lazyQueue.isSet else { return }
        enqueue(on: queue, byProgram: false, mayRepeat: true)
    }

    /// Adds the task to a queue.
    final func enqueue(on queue: TaskQueue, byProgram: Bool, mayRepeat: Bool) {
        // One that was cancelled before is over: the queue, and its delegate, have nothing to do with it.
        let standing = standing
        if standing.phase == .finished, !lazyQueue.isSet {
            if byProgram { markAdded(mayRepeat: mayRepeat) }
            return
        }
        if standing.isConditional { carryOut(.prepareConditions) }
        unsafe queue.taskSideReference._withUnsafeGuaranteedRef { queue in
            // The task has it for as long as it is there itself.
            unsafe lazyQueue.storeIfNil(queue)._withUnsafeGuaranteedRef { stored in
                enqueue(on: queue, storedAs: stored, byProgram: byProgram, mayRepeat: mayRepeat)
            }
        }
    }

    private func enqueue(on queue: TaskQueue, storedAs stored: TaskQueue, byProgram: Bool, mayRepeat: Bool) {
        // A dependent was faster, and brings it elsewhere. One that is started without a queue goes where it is brought.
        if stored !== queue, byProgram, !mayRepeat {
            if standing.isAdded { return markAdded(mayRepeat: mayRepeat) }
            return move(to: queue, from: stored, mayRepeat: mayRepeat)
        }
        let taken = join(stored, .add(byProgram: byProgram))
        if taken.actions == [.accept, .submit] { return submit(byProducer: byProgram) }
        if taken.actions == [.accept, .link] { return linkDependencies(byProducer: byProgram) }
        if taken.actions.isEmpty, byProgram { markAdded(mayRepeat: mayRepeat) }
        perform(taken.actions, byProducer: byProgram)
    }

    /// Has a queue keep the task, and takes the event into account.
    private func join(_ queue: TaskQueue, _ event: TaskState.Event) -> TaskState.Step {
        QueueTasks.with(queue) { tasks in
            tasks.register(self, in: queue)
            let taken = step(event)
            // This finds a publisher that has not seen the queue. A later publisher sees the queue.
            if taken.actions.isEmpty ? standingInFull.phase == .finished : taken.state.phase == .finished {
                tasks.unregister(self, from: queue)
            }
            return taken
        }
    }

    private func markAdded(mayRepeat: Bool) {
        if !step(.add(byProgram: true)).actions.isEmpty || mayRepeat { return }
        trap("TaskQueue.add(task:): the task was added or started before (\(title)). Make a new task.")
    }

    /// The queue's bookkeeping, where the task is on one.
    final var queueTasks: (QueueTasks, TaskQueue)? {
        guard let queue = lazyQueue.load() else { return nil }
        return (QueueTasks.of(queue), queue)
    }

    final func submit(byProducer: Bool) { unsafe submit(entry: Unmanaged.passRetained(self).toOpaque(), byProducer: byProducer) }

    /// Submits a task that a dependency has made ready, and takes over the reference.
    static func submit(_ ready: Unmanaged<AnyTask>) {
        unsafe ready._withUnsafeGuaranteedRef { unsafe $0.submit(entry: ready.toOpaque(), byProducer: false) }
    }

    /// Submits a task, with a reference, that the calling thread has made ready with the last action of its job. The
    /// worker may run it next, without a place in the queue.
    static func submitNext(_ ready: Unmanaged<AnyTask>) {
        unsafe ready._withUnsafeGuaranteedRef { task in
            let isSubmitted: Void? = task.chosenQueue == nil
                ? task.lazyQueue.withReference { queue in
                    unsafe queue.submitNext(task: ready.toOpaque(), qos: task.qos, run: runSubmittedTask)
                } : nil
            if isSubmitted == nil { unsafe task.submit(entry: ready.toOpaque(), byProducer: false) }
        }
    }

    private func submit(entry: UnsafeMutableRawPointer, byProducer: Bool) {
        let qos = qos
        if let chosenQueue {
            // The mark tells the place in this queue from one that the task has given up.
            let marked = unsafe entry + 1
            return unsafe chosenQueue.submit(task: marked, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
        let submitted: Void? = lazyQueue.withReference {
            unsafe $0.submit(task: entry, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
        if submitted == nil {
            unsafe TaskQueue.global().submit(task: entry, qos: qos, byProducer: byProducer, run: runSubmittedTask)
        }
    }

    /// A worker is about to run the task.
    final func begin(isMarked: Bool) {
        if !isMarked, chosenQueue != nil { return }  // a place that it has given up
        guard step(.begin).actions.contains(.enter) else { return }
        unsafe isJob = true
        enter()
    }

    /// The queue of a place of the task's was cancelled.
    final func discard(isMarked: Bool) {
        if !isMarked, chosenQueue != nil { return }  // a place that it has given up
        take(.discard)
    }

    /// Runs the body; this thread has been given it.
    final func enter() {
        var work = CurrentWorkReference(self)  // the caller has the task
        unsafe withUnsafeMutablePointer(to: &work) { work in
            let outer = unsafe CurrentWorkPlace.enter(work)
            if lazyExtras.isSet {
                ifHad(.time) { $0.noteStart() }
                tellObservers(of: .start)
            }
            carryOut(.runBody)
            unsafe CurrentWorkPlace.leave(to: outer)
        }
    }
}

/// The engine's door: a worker is about to run a submitted task.
private func runSubmittedTask(_ entry: UnsafeMutableRawPointer) {
    let (task, isMarked) = unsafe submittedTask(entry)
    task.begin(isMarked: isMarked)
}

/// The task of an entry, and whether the entry is in the queue to which the task moved.
private func submittedTask(_ entry: UnsafeMutableRawPointer) -> (AnyTask, Bool) {
    let mark = Int(bitPattern: entry) & 1
    return unsafe (Unmanaged<AnyTask>.fromOpaque(entry - mark).takeRetainedValue(), mark == 1)
}

@_cdecl("od_task_run")
func odTaskRun(_ task: UnsafeMutableRawPointer) {
    unsafe runSubmittedTask(task)
    while let next = unsafe TaskQueue.takeNextTask() { unsafe runSubmittedTask(next) }
}

/// The engine's other door: a submitted task will not run, because its queue or scheduler was cancelled.
@_cdecl("od_task_discard")
func odTaskDiscard(_ task: UnsafeMutableRawPointer) {
    unsafe discardSubmittedTask(task)
}

private func discardSubmittedTask(_ entry: UnsafeMutableRawPointer) {
    let (task, isMarked) = unsafe submittedTask(entry)
    // In a line: the submission of a dependent may discard it at once, and its end the next one.
    Bounce.run { task.discard(isMarked: isMarked) }
}
