/* ledger.c — what was submitted, and what became of it: in waits, and at the end. */
#include <inttypes.h>

#include "Random/world.h"

/* ---- what a wait is for ---- */

static bool has(const uint64_t *set, int op)
{
    return set[op / 64] >> (op % 64) & 1;
}

static bool is_counted(int op, int group, int queue, const od_group *own)
{
    const struct op *of = &w.program.op[op];

    if (own != NULL)
        return atomic_load(&w.entry[op].group) == own;
    if (group != NONE)
        return of->group == group && (of->kind == ASYNC || of->kind == TRY || of->kind == MEMBER ||
                                      of->kind == ENTERED || of->kind == ENTER_ASYNC);
    return of->queue == queue && is_closure(of->kind) && of->kind != TIMER && of->kind != TIMER_ELSEWHERE;
}

void awaited_begin(uint64_t awaited[OPS / 64], int group, int queue, od_group *own)
{
    for (int i = 0; i < OPS / 64; i++)
        awaited[i] = 0;
    for (int i = 0; i < w.program.ops; i++) {
        const entry *each = &w.entry[i];

        if (is_counted(i, group, queue, own) && atomic_load(&each->after) != 0 && !atomic_load(&each->ended) &&
            !atomic_load(&each->discarded))
            awaited[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* Whether nobody may know that it will never run. */
static bool may_vanish(int op)
{
    const struct op *of = &w.program.op[op];
    const queue_plan *plan = of->queue != NONE ? &w.program.queue[of->queue] : NULL;

    return atomic_load(&w.stopping) ||
           (plan != NULL && (plan->cancels || (plan->pending_limit > 0 && plan->overflow == OD_OVERFLOW_REFUSED)));
}

void awaited_end(const uint64_t awaited[OPS / 64], const char *what, int op)
{
    for (int i = 0; i < w.program.ops; i++) {
        entry *each = &w.entry[i];

        if (!has(awaited, i) || atomic_load(&each->ended))
            continue;
        oracle_expects(w.program.op[i].kind != ENTERED && may_vanish(i) && atomic_load(&each->ran) == 0,
                       "%s %d is over before %d is", what, op, i);
        atomic_store(&each->may_not_run, true);
        oracle_expects(atomic_load(&each->ran) == 0 || atomic_load(&each->ended),
                       "%s %d is over while %d runs", what, op, i);
    }
}

/* ---- the end ---- */

/* Closures of the queue (NONE: of the pool) that never ran. */
static uint64_t never_ran(int queue)
{
    uint64_t never = 0;

    for (int i = 0; i < w.program.ops; i++) {
        const struct op *of = &w.program.op[i];
        const entry *each = &w.entry[i];
        unsigned began = atomic_load(&each->began), ran = atomic_load(&each->ran);
        unsigned discarded = atomic_load(&each->discarded), refused = atomic_load(&each->refused);

        if (!is_closure(of->kind) || of->queue != queue || of->kind == TIMER || of->kind == TIMER_ELSEWHERE)
            continue;
        oracle_expects(ran + discarded + refused <= began, "%d was submitted %u times, ran %u, discarded %u, refused %u",
                       i, began, ran, discarded, refused);
        oracle_expects(atomic_load(&each->ended) == ran, "%d has begun and not ended", i);
        if (of->kind == TASK)
            oracle_expects(ran + discarded == began, "the task %d neither ran nor was discarded", i);
        never += began - ran - refused;
    }
    return never;
}

static bool has_timers(int queue)
{
    for (int i = 0; i < w.program.ops; i++) {
        const struct op *of = &w.program.op[i];

        if ((of->kind == TIMER || of->kind == TIMER_ELSEWHERE) && of->queue == queue &&
            atomic_load(&w.entry[i].began))
            return true;
    }
    return false;
}

/* Returns how many a cancel or the stop has kept from running. */
static uint64_t check_queue(int queue)
{
    uint64_t never = never_ran(queue), cancelled = atomic_load(&w.queue[queue].cancelled);
    uint64_t refused = od_queue_refused(w.queue[queue].queue);
    bool timers = has_timers(queue), exact = !timers && !w.program.stops;

    oracle_expects(od_queue_pending(w.queue[queue].queue) == 0, "queue %d has %" PRIu64 " pending at the end",
                   queue, od_queue_pending(w.queue[queue].queue));
    oracle_expects(od_queue_running(w.queue[queue].queue) == 0, "queue %d has %" PRIu64 " running at the end",
                   queue, od_queue_running(w.queue[queue].queue));
    oracle_expects(!exact || never == cancelled + refused,
                   "of queue %d %" PRIu64 " never ran, %" PRIu64 " were cancelled and %" PRIu64 " refused",
                   queue, never, cancelled, refused);
    oracle_expects(w.program.stops || never <= cancelled + refused,
                   "of queue %d %" PRIu64 " never ran, %" PRIu64 " were cancelled and %" PRIu64 " refused",
                   queue, never, cancelled, refused);
    oracle_expects(timers || never >= cancelled + refused,
                   "of queue %d %" PRIu64 " never ran, %" PRIu64 " were cancelled and %" PRIu64 " refused",
                   queue, never, cancelled, refused);
    return never - refused;
}

static void check_timer(int op)
{
    const entry *each = &w.entry[op];

    if (!atomic_load(&each->began))
        return;
    oracle_expects(atomic_load(&each->over) == 1, "the timer %d was over %u times", op,
                   atomic_load(&each->over));
    oracle_expects(atomic_load(&each->calls) <= w.program.op[op].amount, "the timer %d called %u times", op,
                   atomic_load(&each->calls));
}

static bool is_notification(kind it)
{
    return it == GROUP_NOTIFY || it == QUEUE_NOTIFY;
}

void check_ledger(const od_stop_report *report)
{
    uint64_t never = never_ran(NONE);
    bool timers = has_timers(NONE);
    od_metrics metrics;

    if (!w.program.stops)
        oracle_expects(never == 0, "%" PRIu64 " jobs of the pool never ran", never);
    for (int i = 0; i < w.program.queues; i++) {
        never += check_queue(i);
        timers |= has_timers(i);
    }
    od_pool_metrics(w.pool, &metrics);
    oracle_expects(timers ? never <= metrics.cancelled : never == metrics.cancelled,
                   "%" PRIu64 " never ran, the pool tells of %" PRIu64, never, metrics.cancelled);
    oracle_expects(timers || metrics.executed == atomic_load(&w.runs), "%llu ran, the pool tells of %" PRIu64,
                   atomic_load(&w.runs), metrics.executed);
    oracle_expects(w.program.stops || (report->ran == metrics.executed && report->cancelled == metrics.cancelled &&
                                       report->stuck == 0),
                   "the stop tells of %" PRIu64 " that ran, %" PRIu64 " cancelled, %" PRIu64 " stuck; the pool of %" PRIu64
                   " and %" PRIu64, report->ran, report->cancelled, report->stuck, metrics.executed,
                   metrics.cancelled);
    for (int i = 0; i < w.program.groups; i++)
        oracle_expects(od_group_pending(w.group[i]) == 0, "group %d has %" PRIu64 " pending at the end", i,
                       od_group_pending(w.group[i]));
    for (int i = 0; i < w.program.semaphores; i++)
        oracle_expects(od_semaphore_value(w.semaphore[i]) == w.program.permits[i],
                       "semaphore %d has %lld permits of %u", i, (long long)od_semaphore_value(w.semaphore[i]),
                       w.program.permits[i]);
    for (int i = 0; i < w.program.ops; i++) {
        kind what = w.program.op[i].kind;

        if (what == TIMER || what == TIMER_ELSEWHERE)
            check_timer(i);
        if (is_notification(what) && atomic_load(&w.entry[i].began))
            oracle_expects(atomic_load(&w.entry[i].told) == 1, "the notification %d was told %u times", i,
                           atomic_load(&w.entry[i].told));
    }
    oracle_expects(od_pool_timers_armed(w.pool) == 0, "%" PRIu64 " timers are armed at the end",
                   od_pool_timers_armed(w.pool));
}
