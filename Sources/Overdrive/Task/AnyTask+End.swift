internal import OverdriveCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A task's end: which outcome counts, how it is published, and whose code is called on the way.
extension AnyTask {
    /// The result of an attempt to set the outcome.
    @usableFromInline
    enum Reception {
        /// Another one was first.
        case refused
        /// It ends the attempt, and there is nothing to do about it.
        case accepted
        /// It is the task's outcome, and the caller publishes it.
        case due
        /// It is the task's outcome, and the caller publishes it with ``publishLater(_:publish:)``.
        case dueLater
    }

    /// Takes an outcome into account. Where it is due, observers know that it comes, and the error is in its place.
    @usableFromInline
    final func settle(failure: (any Error)?, returning: Bool) -> Reception {
        let actions =
            if let failure, let extras {
                stepAfterFailure(failure, extras, returning: returning)
            } else {
                step(.finish(returning: returning)).actions
            }
        return received(actions, failure: failure)
    }

    @inline(__always)
    private func received(_ actions: TaskState.Actions, failure: (any Error)?) -> Reception {
        if actions.contains(.publish) {
            if endsLater { return .dueLater }
            preparePublishing(of: failure)
            return .due
        }
        perform(actions)
        return actions.contains(.accept) ? .accepted : .refused
    }

    /// The body has returned a value: takes it into account as an outcome. nil: another attempt is to follow, for which the body
    /// has to be in its place.
    @usableFromInline
    final func settleValue() -> Reception? {
        let actions = step(.succeed).actions
        if actions.isEmpty { return nil }
        return received(actions, failure: nil)
    }

    private func stepAfterFailure(_ failure: any Error, _ extras: TaskExtras, returning: Bool) -> TaskState.Actions {
        // The answer is the program's and may take its time: it holds for the attempt that is under way now, if one is.
        let asked = standing
        if asked.isBetweenAttempts, !returning { return [] }
        let event: TaskState.Event =
            extras.mayRetry(after: failure)
            ? .fail(attempt: asked.attempt, returning: returning) : .finish(returning: returning)
        return step(event).actions
    }

    /// Whether the thread is deep inside handlers, and the task has observers or a delegate, which come before its result.
    private var endsLater: Bool { lazyExtras.isSet && Bounce.isDeep && (had(.observers) || delegate != nil) }

    /// Publishes the outcome when the innermost handler on this thread has returned. Until then, a wait on this thread traps.
    @usableFromInline
    @inline(never)
    final func publishLater(_ failure: (any Error)?, publish: @escaping () -> Void) {
        let extras = makeExtras()
        let before = extras.locked { fields in
            defer { fields.teller = thisThread }
            return fields.teller
        }
        Bounce.run {
            extras.locked { $0.teller = before }
            self.preparePublishing(of: failure)
            publish()
        }
    }

    /// Before the outcome is written; this thread has settled it.
    @inline(__always)
    final func preparePublishing(of failure: (any Error)?) {
        if lazyExtras.isSet || failure != nil || QueueTasks.mayAnnounceEnd(of: self) { preparePublishingInFull(of: failure) }
    }

    @inline(never)
    private func preparePublishingInFull(of failure: (any Error)?) {
        if lazyExtras.isSet {
            ifHad(.time) { $0.noteEnd() }
            endProgress(with: failure)  // whoever sees the outcome finds it counted
            tellObservers(of: .willFinish)
        }
        if QueueTasks.mayAnnounceEnd(of: self) {
            lazyQueue.withReference { queue in QueueTasks.with(queue) { $0.announceEnd(of: self, in: queue) } }
        }
        if let failure { unsafe publishedError = failure }
    }

    /// The outcome is written: it can be read from now on. Returns whether the handler in the slot is to be served.
    @usableFromInline
    final func publishOutcome(dropsBody: Bool) -> Bool {
        let actions = step(.publish).actions
        if dropsBody, actions.contains(.dropBody) { carryOut(.dropBody) }
        if let extras { end(extras) }
        return actions.contains(.serveSlot)
    }

    /// The handler in the slot, where there was one, was served.
    ///
    /// - Parameter isLast: Whether the body's thread does nothing else of the program before the task's job ends.
    @usableFromInline
    final func endPublishing(isLast: Bool) {
        if !standing.isClosed, step(.close(locked: false)).actions.isEmpty { carryOut(.serveHandlers) }
        tellObservers(of: .didFinish)
        lazyQueue.withReference { queue in
            QueueTasks.with(queue) { $0.unregister(self, from: queue) }
        }
        if lazyExtras.isSet { leaveChosenQueue() }
        let standing = standing
        var next = standing.hasDependents ? unsafe takeLastDependent() : nil
        let runsNext = unsafe isLast && isJob
        if !runsNext, let ready = unsafe next.take() { unsafe AnyTask.submit(ready) }
        // Before `submitNext`, because this may run deinitialisers of the program.
        if standing.hasDependencies { dropDependencies() }
        if let next = unsafe next { unsafe AnyTask.submitNext(next) }
    }

    /// Publishes a failure; this thread has settled the outcome.
    final func publish(failure: any Error) {
        if endsLater { return publishLater(failure) { self.pass(on: .failure(failure)) } }
        preparePublishing(of: failure)
        pass(on: .failure(failure))
    }

    /// Finishes the task with an error, if it is not finished.
    final func fail(_ error: any Error) {
        switch settle(failure: error, returning: false) {
        case .due: pass(on: .failure(error))
        case .dueLater: publishLater(error) { self.pass(on: .failure(error)) }
        case .refused, .accepted: break
        }
    }

    private func end(_ extras: TaskExtras) {
        endAttempt(standing.attempt)
        if unsafe publishedError?.isCancellation == true { tellCancelled() }
        let unused = extras.locked { fields in
            defer { fields.cancelHandlers = [] }
            return fields.cancelHandlers
        }
        withExtendedLifetime(unused) {}  // given up without the lock
        extras.lazyTyped.load()?.endUpdates()
    }

    /// The error of a task that failed or was cancelled.
    final var failure: (any Error)? { unsafe isFinished ? publishedError : nil }

    /// The delegate whose `didAdd` was called.
    final var delegate: (any TaskQueueDelegate)? {
        ifHad(.delegate) { $0.delegate }
    }

    final func tellDelegate(_ event: QueueTasks.DelegateEvent) {
        guard let delegate else { return }
        lazyQueue.withReference { tell(delegate, of: event, in: $0) }
    }

    final func tell(_ delegate: any TaskQueueDelegate, of event: QueueTasks.DelegateEvent, in queue: TaskQueue) {
        // The program's own object, for as long as that is there.
        let named = ifHad(.delegate) { $0.delegateQueue } ?? queue
        whileTelling { pass(on: .delegate(delegate, event, named)) }
    }

    @inline(__always)
    final func tellObservers(of event: ObserverEvent) {
        if had(.observers) { tellWhoObserves(of: event) }
    }

    private func tellWhoObserves(of event: ObserverEvent) {
        let observers = observers
        guard !observers.isEmpty else { return }
        whileTelling { pass(on: .observers(observers, event)) }
    }

    /// Calls the program's code, for whose return the task's end waits.
    final func whileTelling(_ body: () -> Void) {
        let extras = makeExtras()
        let before = extras.locked { fields in
            defer { fields.teller = thisThread }
            return fields.teller
        }
        Bounce.outside(body)
        extras.locked { $0.teller = before }
    }

    /// Whether the calling thread is in the program's code that the task calls before its end.
    final var isToldHere: Bool { extras?.locked { $0.teller == thisThread } ?? false }

    private var thisThread: UInt { UInt(bitPattern: pthread_self().hashValue) }

    final func tellCancelled() {
        // An asynchronous body that is about to leave word how it is cancelled looks there whether it was.
        guard let extras = standing.phase == .executing ? makeExtras() : extras else { return }
        let handlers = extras.locked { fields in
            fields.cancelIsTold = true
            defer { fields.cancelHandlers = [] }
            return (fields.cancelBody.take().map { [$0] } ?? []) + fields.cancelHandlers
        }
        guard !handlers.isEmpty else { return }
        whileTelling { for handler in handlers { handler() } }
    }

    /// Calls `body` when the task is over.
    final func whenOver(_ body: @escaping @Sendable () -> Void) { pass(on: .whenOver(body)) }

    /// The group that blocked threads wait for.
    final func completionGroup() -> WaitGroup {
        // All waiting threads share one group. Repeated waits with a timeout therefore add no handlers to the task.
        let (group, isNew) = makeExtras().locked { fields in
            if let group = fields.completion { return (group, false) }
            let group = WaitGroup()
            group.enter()
            fields.completion = group
            return (group, true)
        }
        if isNew { whenOver { group.leave() } }
        return group
    }
}
