/* actions.c — what each kind of operation does. */
#include "Random/world.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/clock.h"
#include "include/od_external.h"
#include "include/od_fork.h"

/* Of a closure, a timer's call or a task: the entry tells which. */
static int number_of(const entry *it)
{
    return (int)(it - w.entry);
}

void closure_main(void *raw)
{
    int op = number_of(raw);
    const struct op *of = &w.program.op[op];
    began it;

    closure_begins(&it, op);
    if (!atomic_load(&w.entry[op].skipped))
        run_body(of->first);
    closure_ends(&it, op);
    if (of->kind == ENTER_ASYNC)
        od_group_leave(w.group[of->group]);
    if (of->kind == HANDSHAKE)
        od_semaphore_signal(w.entry[op].semaphore);
}

/* The engine's names for what the layer above has. */
void od_task_run(void *task);
void od_task_discard(void *task);
void od_executor_run(void *job);
void od_executor_discard(void *job);

void od_task_run(void *task)
{
    closure_main(task);
}

void od_task_discard(void *task)
{
    entry *it = task;

    oracle_expects(atomic_fetch_add(&it->discarded, 1) == 0 && !atomic_load(&it->ran),
                   "the task %d is discarded again, or after it ran", number_of(it));
}

void od_executor_run(void *job)
{
    (void)job;
    oracle_fails("there are no executor's jobs");
}

void od_executor_discard(void *job)
{
    (void)job;
    oracle_fails("there are no executor's jobs");
}

/* ---- submitting ---- */

static void submission_begins(int op)
{
    entry *it = &w.entry[op];
    const struct op *of = &w.program.op[op];

    it->section = self.section != NONE && of->queue != NONE &&
                          chain_of(&w.program, of->queue) & bit(w.program.op[self.section].queue)
                      ? self.section
                      : NONE;
    self.submitting = op;
    count_waiting(of->queue != NONE && may_be_full(&w.program.queue[of->queue]));
    atomic_store(&it->before, ticket());
    atomic_fetch_add(&it->began, 1);
}

static void submission_ends(int op, bool accepted)
{
    self.submitting = NONE;
    count_waiting(false);
    if (accepted)
        atomic_store(&w.entry[op].after, ticket());
    else
        atomic_store(&w.entry[op].refused, 1);
    progress();
}

static od_group *group_named(const struct op *of)
{
    return of->group != NONE ? w.group[of->group] : NULL;
}

static void note_submission(const struct op *of)
{
    const queue_plan *queue = &w.program.queue[of->queue];

    feature_met(queue->width == 1 ? SERIAL_QUEUE
                                  : queue->width == OD_UNLIMITED ? CONCURRENT_QUEUE : LIMITED_QUEUE);
    if (queue->target != NONE)
        feature_met(w.program.queue[queue->target].target != NONE ? ON_TWO_TARGETS : ON_TARGET);
    if (queue->pending_limit > 0)
        feature_met((const feature[]){ROOM_WAITED, ROOM_RUNS, ROOM_REFUSED}[queue->overflow]);
    if (queue->inactive)
        feature_met(INACTIVE_QUEUE);
    if (of->barrier)
        feature_met(BARRIER);
    if (of->group != NONE)
        feature_met(IN_GROUP);
}

static void submit(int op)
{
    const struct op *of = &w.program.op[op];
    od_queue *queue = of->queue != NONE ? w.queue[of->queue].queue : NULL;
    void *context = &w.entry[op];
    uint32_t flags = of->barrier ? OD_BARRIER : 0;
    bool accepted = true;

    if (of->queue != NONE)
        note_submission(of);
    submission_begins(op);
    if (of->kind == TRY)
        accepted = od_queue_try_async(queue, group_named(of), of->band, flags, closure_main, context);
    else if (of->kind == TASK)
        od_queue_async_task(queue, of->band, context);
    else if (of->kind == SUBMIT)
        od_pool_submit(w.pool, (od_band)of->band, closure_main, context);
    else if (flags != 0)
        od_queue_async_with(queue, group_named(of), of->band, flags, closure_main, context);
    else
        od_queue_async(queue, group_named(of), of->band, closure_main, context);
    submission_ends(op, accepted);
}

static void submit_without_group(int op)
{
    const struct op *of = &w.program.op[op];

    note_submission(of);
    submission_begins(op);
    od_queue_async_with(w.queue[of->queue].queue, NULL, of->band, of->barrier ? OD_BARRIER : 0, closure_main,
                        &w.entry[op]);
    submission_ends(op, true);
}

static void submit_batch(int op)
{
    const struct op *of = &w.program.op[op];
    _Alignas(16) char storage[OD_BATCH_BYTES];
    od_batch *batch = od_batch_begin(storage, w.queue[of->queue].queue, group_named(of), of->band);

    feature_met(BATCHED);
    note_submission(of);
    for (int i = of->first; i != NONE; i = w.program.op[i].next) {
        if (w.program.op[i].gone)
            continue;
        submission_begins(i);
        self.submitting = op;
        od_batch_add(batch, closure_main, &w.entry[i]);
    }
    od_batch_submit(batch);
    for (int i = of->first; i != NONE; i = w.program.op[i].next) {
        if (!w.program.op[i].gone)
            submission_ends(i, true);
    }
    self.submitting = NONE;
}

/* ---- waiting ---- */

static bool is_job(void)
{
    return od_pool_is_worker(w.pool);
}

static void use_group(int group)
{
    if (atomic_fetch_add(&w.uses[group], 1) > 0)
        feature_met(GROUP_REUSED);
}

static void await_group(int op, int64_t timeout_ns)
{
    const struct op *of = &w.program.op[op];
    uint64_t awaited[OPS / 64];
    int64_t began = odi_clock_now();

    feature_met(timeout_ns != INT64_MAX ? TIMED_WAIT
                                        : is_job() ? GROUP_AWAITED_BY_JOB : GROUP_AWAITED_OUTSIDE);
    use_group(of->group);
    awaited_begin(awaited, of->group, NONE, NULL);
    thread before = waits(timeout_ns == INT64_MAX ? FOR_GROUP : FOR_ELSE, w.group[of->group], NONE);
    bool empty = od_group_wait(w.group[of->group], timeout_ns);
    waited(before);
    if (empty)
        awaited_end(awaited, "the wait", op);
    else
        oracle_expects(timeout_ns != INT64_MAX && odi_clock_now() - began >= timeout_ns,
                       "the wait %d is over before its time", op);
}

static void await_queue(int op, int64_t timeout_ns)
{
    const struct op *of = &w.program.op[op];
    uint64_t awaited[OPS / 64];
    int64_t began = odi_clock_now();

    feature_met(timeout_ns != INT64_MAX ? TIMED_WAIT : QUEUE_AWAITED);
    awaited_begin(awaited, NONE, of->queue, NULL);
    thread before = waits(timeout_ns == INT64_MAX ? FOR_QUEUE : FOR_ELSE, NULL, of->queue);
    bool empty = od_queue_wait(w.queue[of->queue].queue, timeout_ns);
    waited(before);
    if (empty)
        awaited_end(awaited, "the wait", op);
    else
        oracle_expects(timeout_ns != INT64_MAX && odi_clock_now() - began >= timeout_ns,
                       "the wait %d is over before its time", op);
}

static void tell(void *raw)
{
    entry *it = raw;

    progress();
    oracle_expects(atomic_fetch_add(&it->told, 1) == 0, "the notification %d comes again", number_of(it));
    awaited_end(it->awaited, "the notification", number_of(it));
}

static void notify(int op)
{
    const struct op *of = &w.program.op[op];
    entry *it = &w.entry[op];

    awaited_begin(it->awaited, of->group, of->queue, NULL);
    atomic_fetch_add(&it->began, 1);
    feature_met(of->kind == GROUP_NOTIFY ? GROUP_NOTIFIED : QUEUE_NOTIFIED);
    if (of->kind == GROUP_NOTIFY) {
        use_group(of->group);
        od_group_notify(w.group[of->group], tell, it);
    } else
        od_queue_notify(w.queue[of->queue].queue, tell, it);
}

static void own_group(int op)
{
    const struct op *of = &w.program.op[op];
    od_group *group = od_group_create();
    uint64_t awaited[OPS / 64];

    feature_met(GROUP_OF_ITS_OWN);
    for (int i = of->first; i != NONE; i = w.program.op[i].next) {
        if (w.program.op[i].gone)
            continue;
        note_submission(of);
        atomic_store(&w.entry[i].group, group);
        submission_begins(i);
        od_queue_async(w.queue[of->queue].queue, group, of->band, closure_main, &w.entry[i]);
        submission_ends(i, true);
    }
    awaited_begin(awaited, NONE, NONE, group);
    thread before = waits(FOR_GROUP, group, NONE);
    (void)od_group_wait(group, INT64_MAX);
    waited(before);
    awaited_end(awaited, "the group's wait", op);
    od_group_release(group);
}

static void shake_hands(int op)
{
    feature_met(HAND_SHAKEN);
    submit_without_group(op);
    thread before = waits(FOR_ELSE, NULL, NONE);
    (void)od_semaphore_wait(w.entry[op].semaphore, INT64_MAX);
    waited(before);
    oracle_expects(atomic_load(&w.entry[op].ended), "the signal of %d comes before its end", op);
}

static void with_permit(int op)
{
    const struct op *of = &w.program.op[op];
    od_semaphore *semaphore = w.semaphore[of->group];

    feature_met(SEMAPHORE);
    thread before = waits(FOR_ELSE, NULL, NONE);
    bool taken = od_semaphore_wait(semaphore, of->kind == PERMIT ? INT64_MAX
                                                                 : of->amount * ODI_MICROSECOND);
    waited(before);
    oracle_expects(taken || of->kind == PERMIT_TIMED, "the wait %d is over without a permit", op);
    if (!taken)
        return;
    run_body(of->first);
    od_semaphore_signal(semaphore);
}

/* ---- sync and sections ---- */

static void sync_with(int op)
{
    const struct op *of = &w.program.op[op];
    od_queue *queue = w.queue[of->queue].queue;
    od_scope scope;
    synced it;

    feature_met(of->barrier ? BARRIER_SYNC : is_job() ? SYNC_BY_JOB : SYNC_BY_OUTSIDER);
    note_submission(of);
    sync_waits(&it, of);
    if (of->barrier)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    sync_begins(&it, of);
    run_body(of->first);
    sync_ends(&it, of);
    od_queue_sync_end(&scope);
}

static void suspended(int op)
{
    const struct op *of = &w.program.op[op];

    feature_met(SUSPENSION);
    od_queue_suspend(w.queue[of->queue].queue);
    atomic_store(&w.entry[op].open, true);
    self.section = op;
    run_body(of->first);
    self.section = NONE;
    atomic_store(&w.entry[op].open, false);
    od_queue_resume(w.queue[of->queue].queue);
}

static void entered(int op)
{
    const struct op *of = &w.program.op[op];

    feature_met(ENTERED_GROUP);
    od_group_enter(w.group[of->group]);
    atomic_store(&w.entry[op].after, ticket());
    run_body(of->first);
    atomic_store(&w.entry[op].ended, 1);
    od_group_leave(w.group[of->group]);
}

/* ---- timers ---- */

static void timer_calls(void *raw, uint64_t missed)
{
    entry *it = raw;
    int op = number_of(it);
    const struct op *of = &w.program.op[op];
    began here;

    (void)missed;
    oracle_expects(od_timer_now() >= it->due, "the timer %d calls before it is due", op);
    oracle_expects(!atomic_load(&it->barred), "the timer %d calls after it was cancelled", op);
    oracle_expects(!atomic_load(&it->over), "the timer %d calls after it is over", op);
    oracle_expects(atomic_fetch_add(&it->inside, 1) == 0, "two calls of the timer %d overlap", op);
    if (of->kind == TIMER)
        closure_begins(&here, op);
    unsigned calls = atomic_fetch_add(&it->calls, 1) + 1;
    if (calls > 1)
        feature_met(TIMER_REPEATED);
    run_body(of->first);
    if (calls == of->amount)
        (void)od_timer_cancel(atomic_load(&it->timer));
    if (of->kind == TIMER)
        closure_ends(&here, op);
    atomic_fetch_sub(&it->inside, 1);
}

static void timer_is_over(void *raw)
{
    entry *it = raw;

    oracle_expects(atomic_fetch_add(&it->over, 1) == 0, "the timer %d is over again", number_of(it));
    progress();
}

/* Runs the timer's call where it is delivered, in these queues. */
static void perform_in(uint32_t queues, entry *it)
{
    frame here = {.held = queues};
    thread before = self;

    self = (thread){.top = &here, .outsider = self.outsider, .submitting = NONE, .section = NONE};
    check_context(queues, "the delivered", number_of(it));
    od_timer_perform(atomic_load(&it->timer));
    self = before;
}

static void perform(void *raw)
{
    entry *it = raw;

    perform_in(chain_of(&w.program, w.program.op[number_of(it)].queue), it);
}

static void deliver(void *raw, od_timer *timer)
{
    entry *it = raw;
    const struct op *of = &w.program.op[number_of(it)];

    (void)timer;
    check_context(0, "the delivery", number_of(it));
    oracle_expects(self.top == NULL && self.waiting == NOTHING && !self.outsider,
                   "the delivery %d comes on top of something", number_of(it));
    if (of->queue != NONE)
        od_queue_async(w.queue[of->queue].queue, NULL, OD_QUEUE_BAND, perform, it);
    else
        perform_in(0, it);
}

static void start_timer(int op)
{
    const struct op *of = &w.program.op[op];
    entry *it = &w.entry[op];
    od_timer_options options = {.delay_ns = (of->amount - 1) * 300 * ODI_MICROSECOND,
                                .interval_ns = of->amount > 1 ? of->amount * 100 * ODI_MICROSECOND : 0,
                                .call = timer_calls,
                                .over = timer_is_over,
                                .context = it};
    od_timer *timer;

    feature_met(of->kind == TIMER ? OWN_TIMER : TIMER_MOVED);
    if (of->queue != NONE)
        note_submission(of);
    it->due = od_timer_now() + options.delay_ns;
    atomic_fetch_add(&it->began, 1);
    if (of->kind == TIMER)
        timer = od_timer_create_with(w.queue[of->queue].queue, of->band, of->barrier ? OD_BARRIER : 0,
                                     &options);
    else
        timer = od_timer_create_elsewhere(w.pool, &options, deliver);
    atomic_store(&it->timer, timer);
    od_timer_start(timer);
}

static void cancel_timer(int op)
{
    entry *it = &w.entry[w.program.op[op].subject];
    od_timer *timer = atomic_load(&it->timer);

    if (timer == NULL)
        return;
    feature_met(TIMER_CANCELLED);
    if (od_timer_cancel(timer) != OD_TIMER_RUNS) /* that may be about to begin, for its user */
        atomic_store(&it->barred, true);
}

/* ---- branches ---- */

typedef struct branches {
    int first;   /* of these that are left */
    frame *top;  /* the fork's */
} branches;

static void act(int op);
static bool in_child; /* there a thief finds branches below the fork, too: these are the parent's */

static int next_there(int op)
{
    while (op != NONE && w.program.op[op].gone)
        op = w.program.op[op].next;
    return op;
}

/* Runs the first one here, and lets a thief have the others. */
static void run_branches(void *raw)
{
    const branches *it = raw;
    thread before = self;

    if (in_child)
        return;
    count_waiting(false);
    self = (thread){.top = it->top, .outsider = before.outsider, .submitting = NONE, .section = NONE};
    check_context(it->top != NULL ? it->top->held : 0, "the branch", it->first);
    branches rest = {next_there(w.program.op[it->first].next), it->top};
    if (rest.first == NONE) {
        act(it->first);
    } else {
        od_fork_slot *branch = od_fork(run_branches, &rest);

        act(it->first);
        thread waiter = waits(FOR_ELSE, NULL, NONE);
        od_join(branch, run_branches, &rest);
        waited(waiter);
    }
    self = before;
    self.counted = false;
    count_waiting(before.counted);
}

static void join(int op)
{
    branches all = {next_there(w.program.op[op].first), self.top};
    od_fork_scope scope;

    if (all.first == NONE)
        return;
    feature_met(BRANCHED);
    od_forks_enter(w.pool, &scope);
    run_branches(&all);
    od_forks_leave(&scope);
}

/* ---- a forked child ---- */

enum { JOBS_OF_A_CHILD = 16, CHILD_SECONDS = 120 };

static atomic_int ran_in_child[JOBS_OF_A_CHILD];

static void run_in_child(void *count) { atomic_fetch_add((atomic_int *)count, 1); }

/* Its exit status: whether each of its jobs ran once. Nothing of the parent's program may go on here. */
static int child_of(uint32_t jobs)
{
    od_queue *queue = od_queue_create(w.pool, OD_BAND_DEFAULT, jobs % 2 ? 1 : OD_UNLIMITED, "child's");
    od_group *group = od_group_create();

    for (uint32_t i = 0; i < jobs; i++)
        od_queue_async(queue, group, OD_QUEUE_BAND, run_in_child, &ran_in_child[i]);
    bool over = od_group_wait(group, CHILD_SECONDS / 2 * 1000 * ODI_MILLISECOND);
    for (uint32_t i = 0; i < jobs; i++)
        over &= atomic_load(&ran_in_child[i]) == 1;
    return over ? 0 : 1;
}

static void fork_child(int op)
{
    int status = 0;

    feature_met(PROCESS_FORKED);
    pid_t child = fork();
    oracle_expects(child >= 0, "the child %d cannot be forked", op);
    if (child == 0) {
        in_child = true;
        (void)alarm(CHILD_SECONDS);
        _exit(UNDER_TSAN ? 0 : child_of(w.program.op[op].amount)); /* which refuses threads in such a child */
    }
    thread before = waits(FOR_ELSE, NULL, NONE);
    od_blocking_begin();
    while (waitpid(child, &status, 0) < 0) {
    }
    od_blocking_end();
    waited(before);
    oracle_expects(status == 0, "the child %d ends with %#x", op, (unsigned)status);
}

/* ---- the others ---- */

static void compute(uint32_t amount)
{
    for (volatile uint32_t i = 0; i < 20 * amount; i++) {
    }
}

static void doze(const struct op *of)
{
    feature_met(SLEPT);
    if (of->kind == SAY_SLEEP)
        od_blocking_begin();
    odi_clock_sleep(of->amount * ODI_MICROSECOND);
    if (of->kind == SAY_SLEEP)
        od_blocking_end();
}

static void look(int op)
{
    od_queue *queue = w.queue[w.program.op[op].queue].queue;
    bool inside = self.top != NULL && self.top->held & bit(w.program.op[op].queue);

    oracle_expects(od_queue_is_current(queue) == inside, "%d is %sin queue %d", op, inside ? "not " : "",
                   w.program.op[op].queue);
    (void)od_queue_pending(queue);
    (void)od_queue_running(queue);
    (void)od_queue_is_suspended(queue);
}

static void activate(const struct op *of)
{
    const queue_plan *queue = &w.program.queue[of->queue];

    if (of->amount != 0) /* what others have submitted by then is met in the middle */
        odi_clock_sleep(of->amount * ODI_MICROSECOND);
    if (queue->target != NONE)
        od_queue_set_target(w.queue[of->queue].queue, w.queue[queue->target].queue);
    od_queue_activate(w.queue[of->queue].queue);
}

static void stop(int op)
{
    uint32_t amount = w.program.op[op].amount;
    od_stop_report report;

    feature_met(amount != 0 ? STOPPED_IN_TIME : STOPPED);
    if (amount != 0) /* of several stops the earliest deadline holds */
        atomic_store(&w.hurried, true);
    atomic_store(&w.stopping, true);
    od_status status = od_pool_stop(w.pool, amount != 0 ? amount * ODI_MICROSECOND : INT64_MAX, &report);
    oracle_expects(status == OD_OK || status == OD_STOPPED, "the stop %d says %d", op, status);
    oracle_expects(report.stuck == 0 || atomic_load(&w.hurried), "the stop %d leaves %llu stuck", op,
                   (unsigned long long)report.stuck);
}

static void act(int i)
{
    const struct op *of = &w.program.op[i];

    progress();
    atomic_fetch_add(&w.entry[i].acting, 1);
    switch (of->kind) {
    case TASK: feature_met(ITEM); submit(i); break;
    case TRY: feature_met(TRIED); submit(i); break;
    case SUBMIT: feature_met(OF_THE_POOL); submit(i); break;
    case ASYNC: submit(i); break;
    case BATCH: submit_batch(i); break;
    case SYNC:
    case SYNC_BARRIER: sync_with(i); break;
    case SUSPENDED: suspended(i); break;
    case ENTERED: entered(i); break;
    case ENTER_ASYNC:
        feature_met(ENTERED_GROUP);
        od_group_enter(w.group[of->group]);
        submit_without_group(i);
        break;
    case GROUP_WAIT: await_group(i, INT64_MAX); break;
    case GROUP_TIMED: await_group(i, of->amount * ODI_MICROSECOND); break;
    case QUEUE_WAIT: await_queue(i, INT64_MAX); break;
    case QUEUE_TIMED: await_queue(i, of->amount * ODI_MICROSECOND); break;
    case GROUP_NOTIFY:
    case QUEUE_NOTIFY: notify(i); break;
    case OWN_GROUP: own_group(i); break;
    case PERMIT:
    case PERMIT_TIMED: with_permit(i); break;
    case HANDSHAKE: shake_hands(i); break;
    case TIMER:
    case TIMER_ELSEWHERE: start_timer(i); break;
    case CANCEL_TIMER: cancel_timer(i); break;
    case CANCEL_ITEM:
        feature_met(CANCELLED_ITEM);
        atomic_store(&w.entry[of->subject].skipped, true);
        break;
    case CANCEL_QUEUE:
        feature_met(CANCELLED_QUEUE);
        atomic_fetch_add(&w.queue[of->queue].cancelled, od_queue_cancel_all(w.queue[of->queue].queue));
        break;
    case ACTIVATE: activate(of); break;
    case COMPUTE: compute(of->amount); break;
    case SLEEP:
    case SAY_SLEEP: doze(of); break;
    case LOOK: look(i); break;
    case JOIN: join(i); break;
    case CHILD: fork_child(i); break;
    case STOP: stop(i); break;
    case MEMBER:
    case KINDS: break;
    }
    atomic_fetch_sub(&w.entry[i].acting, 1);
}

void run_body(int first)
{
    for (int i = first; i != NONE; i = w.program.op[i].next) {
        if (!w.program.op[i].gone)
            act(i);
    }
}
