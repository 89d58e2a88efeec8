// Owns tasks that are derived from other tasks: `then`, `recover`, `switchTo`, `zip`, `all`, `race`. Programs call
// it. It never blocks a thread.

public import OverdriveCore

/// Derived tasks are lazy. Starting or adding one starts its source tasks on the same queue, unless its outcome is
/// decided before.
///
/// Cancelling a derived task cancels the sources that it has started or would have started, but none that others had
/// started. A derived task that ends before its start, for example by a failed dependency, cancels its sources too. A
/// repeated attempt uses the existing outcomes of the sources instead of running them again. Stack use does not
/// depend on the length of a chain, or on the number of rounds of a loop of `then`.
extension Task {
    /// Returns a task that transforms this task's value.
    ///
    ///     let count = download.then { data in try decode(data).count }
    ///
    /// `transform` also transforms updates. A failure or cancellation is passed on.
    ///
    /// - Parameter transform: A closure that returns the new task's value.
    /// - Returns: The derived task.
    /// - Ordering: After this task's earlier handlers. Updates keep their order.
    /// - Threading: `transform` runs on the thread that publishes the value, so it should be short.
    /// - Cost: A task, and two handlers of this task.
    public final func then<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> U) -> Task<U> {
        Task<U>(body: .relay(parts: [self]) { emit in
            let forget = self.relay { value in
                emit.update(with: Result { try Bounce.outside { try transform(value) } })
            } outcome: { outcome, wasUpdate in
                switch outcome {
                case .failure(let error): emit(.failure(error))
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit.end(with: Result { try Bounce.outside { try transform(value) } })
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task that continues with another task, made from this task's value.
    ///
    ///     let page = login.then { session in fetchPage(session) }
    ///
    /// Each update also produces a task, and cancels the task of the update before.
    ///
    /// - Parameter transform: A closure that returns the task to continue with.
    /// - Returns: The derived task.
    /// - Ordering: The second task begins after this task's value.
    /// - Threading: `transform` runs on the thread that publishes the value. The task that it returns runs on the
    ///   derived task's queue.
    /// - Cost: A task, two handlers of this task, and a task for each value.
    public final func then<U: Sendable>(_ transform: @escaping @Sendable (T) throws -> Task<U>) -> Task<U> {
        Task<U>(body: .relay(parts: [self]) { emit in
            let latest = Latest(emit)
            let forget = self.relay { value in
                latest.follow { try transform(value) }
            } outcome: { outcome, wasUpdate in
                switch outcome {
                case .failure(let error): emit(.failure(error))
                case .success(let value):
                    if !wasUpdate { latest.follow { try transform(value) } }
                    latest.isLast()
                }
            }
            let stop = emit.begin(self, forget)
            return {
                stop()
                latest.stop()
            }
        })
    }

    /// Returns a task that replaces this task's error by a value. Cancellation is passed on.
    ///
    ///     let logo = download.recover { _ in placeholder }
    ///
    /// - Parameter transform: A closure that returns the value for an error.
    /// - Returns: The derived task.
    /// - Ordering: After this task's earlier handlers. Updates keep their order.
    /// - Threading: `transform` runs on the thread that publishes the error, so it should be short.
    /// - Cost: A task, and two handlers of this task.
    public final func recover(_ transform: @escaping @Sendable (any Error) throws -> T) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let forget = self.relay { emit(.update($0)) } outcome: { outcome, wasUpdate in
                switch outcome {
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit(.value(value))
                case .failure(let error) where error.isCancellation: emit(.failure(error))
                case .failure(let error): emit.end(with: Result { try Bounce.outside { try transform(error) } })
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task that continues with another task after this task's error. Cancellation is passed on.
    ///
    /// - Parameter transform: A closure that returns the task to continue with.
    /// - Returns: The derived task.
    /// - Ordering: The other task begins after this task's error.
    /// - Threading: `transform` runs on the thread that publishes the error. The task that it returns runs on the
    ///   derived task's queue.
    /// - Cost: A task, two handlers of this task, and a task for an error.
    public final func recover(_ transform: @escaping @Sendable (any Error) throws -> Task<T>) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let latest = Latest(emit)
            let forget = self.relay { emit(.update($0)) } outcome: { outcome, wasUpdate in
                switch outcome {
                case .success where wasUpdate: emit(.completion)
                case .success(let value): emit(.value(value))
                case .failure(let error) where error.isCancellation: emit(.failure(error))
                case .failure(let error):
                    latest.follow { try transform(error) }
                    latest.isLast()
                }
            }
            let stop = emit.begin(self, forget)
            return {
                stop()
                latest.stop()
            }
        })
    }

    /// Returns a task whose updates, outcome and handlers are delivered on a queue, in order.
    ///
    /// On `TaskQueue.main`, events of the main thread are delivered at once. If the queue discards a delivery, the
    /// derived task is cancelled.
    ///
    ///     issues.switchTo(.main).onUpdate { show($0) }
    ///
    /// - Parameter queue: The queue that runs the handlers.
    /// - Returns: The derived task.
    /// - Ordering: The order of this task's events, even on a concurrent queue.
    /// - Threading: Handlers run where the queue's closures run.
    /// - Cost: A task, two handlers of this task, and at most one submission for each event.
    public final func switchTo(_ queue: TaskQueue) -> Task<T> {
        Task(body: .relay(parts: [self]) { emit in
            let line = OrderedDelivery(to: queue) { emit.isDiscarded() }
            let forget = self.relay { value in
                line.deliver { emit(.update(value)) }
            } outcome: { outcome, wasUpdate in
                line.deliver {
                    switch outcome {
                    case .success where wasUpdate: emit(.completion)
                    case .success(let value): emit(.value(value))
                    case .failure(let error): emit(.failure(error))
                    }
                }
            }
            return emit.begin(self, forget)
        })
    }

    /// Returns a task with the values of both tasks. The first failure fails it and cancels the other task.
    ///
    /// - Parameter other: The other task.
    /// - Returns: The derived task.
    /// - Ordering: The two tasks run concurrently.
    /// - Threading: The thread that ends the later task combines the values.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public final func zip<U: Sendable>(_ other: Task<U>) -> Task<(T, U)> {
        Task<(T, U)>(body: .relay(parts: [self, other]) { emit in
            let pair = Pair<T, U>()
            let forgetFirst = self.relayOutcome { outcome in
                switch outcome {
                case .success(let value): pair.note(first: value).map { emit(.value($0)) }
                case .failure(let error): emit(.failure(error))
                }
            }
            let forgetSecond = other.relayOutcome { outcome in
                switch outcome {
                case .success(let value): pair.note(second: value).map { emit(.value($0)) }
                case .failure(let error): emit(.failure(error))
                }
            }
            let stops = [emit.begin(self, forgetFirst), emit.begin(other, forgetSecond)]
            return { for stop in stops { stop() } }
        })
    }

    /// Returns a task with the values of both tasks; see ``zip(_:)``.
    ///
    /// - Parameters:
    ///   - a: The first task.
    ///   - b: The second task.
    /// - Returns: The derived task.
    /// - Ordering: The two tasks run concurrently.
    /// - Threading: The thread that ends the later task combines the values.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public static func zip<A: Sendable, B: Sendable>(_ a: Task<A>, _ b: Task<B>) -> Task<(A, B)> where T == (A, B) {
        a.zip(b)
    }

    /// Returns a task with the values of all tasks, in order. The first failure fails it and cancels the others.
    ///
    ///     let pages = Task.all(urls.map(fetch))
    ///
    /// - Parameter tasks: The tasks.
    /// - Returns: The derived task.
    /// - Ordering: The tasks run concurrently, and begin in the order of the array.
    /// - Threading: The thread that ends the last task makes the array.
    /// - Cost: A task, a handler of each task, and a lock for each value.
    public static func all<E: Sendable>(_ tasks: [Task<E>]) -> Task<[E]> where T == [E] {
        Task(body: .relay(parts: tasks) { emit in
            guard !tasks.isEmpty else {
                emit(.value([]))
                return {}
            }
            let values = Collected<E>(count: tasks.count)
            let forgets = tasks.enumerated().map { index, task in
                task.relayOutcome { outcome in
                    switch outcome {
                    case .success(let value): values.note(value, at: index).map { emit(.value($0)) }
                    case .failure(let error): emit(.failure(error))
                    }
                }
            }
            let stops = Swift.zip(tasks, forgets).map { emit.begin($0, $1) }
            return { for stop in stops { stop() } }
        })
    }

    /// Returns a task with the outcome of the first task to finish. The others are cancelled.
    ///
    /// - Parameter tasks: The tasks. If there are none, the derived task fails with ``TaskError/nothingToDo``.
    /// - Returns: The derived task.
    /// - Ordering: The tasks run concurrently, and begin in the order of the array.
    /// - Threading: The outcome comes on the thread that ends the first task.
    /// - Cost: A task, and a handler of each task.
    public static func race(_ tasks: [Task<T>]) -> Task<T> {
        Task(body: .relay(parts: tasks) { emit in
            if tasks.isEmpty { emit(.failure(TaskError.nothingToDo)) }
            let forgets = tasks.map { task in task.relayOutcome { outcome in emit.end(with: outcome) } }
            let stops = Swift.zip(tasks, forgets).map { emit.begin($0, $1) }
            return { for stop in stops { stop() } }
        })
    }

    /// Forwards the outcome through the thread's line, so that forwarding does not nest. Returns a closure that
    /// removes the handler.
    private func relayOutcome(
        _ body: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let listener = Listener<T> { outcome in Bounce.run { body(outcome) } }
        add(.listener(listener))
        return { [weak self] in self?.forget(nil, listener) }
    }

    /// Forwards updates, and then the outcome. Returns a closure that removes the handlers.
    func relay(
        updates: @escaping @Sendable (T) -> Void,
        outcome body: @escaping @Sendable (Result<T, any Error>, _ wasUpdate: Bool) -> Void
    ) -> @Sendable () -> Void {
        let subscription = subscribe(isRelay: true, updates)
        let listener = Listener<T> { [weak self] outcome in
            let wasUpdate = self?.isLastUpdateTheValue ?? false
            let deliver = { Bounce.run { body(outcome, wasUpdate) } }
            guard let self else { return deliver() }
            call(behind: subscription, deliver)
        }
        add(.listener(listener))
        return { [weak self] in self?.forget(subscription, listener) }
    }
}
