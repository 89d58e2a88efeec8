/* timer.c — timers: a timer entry that submits a job to a queue when it is due (include/od_timer.h).
 *
 * One word holds the timer's state and whether it is cancelled. The thread that moves the timer on owns it.
 * The first owner is the thread that takes the entry off the wheel, then the queue's job, then the wheel
 * again. A cancel sets its bit, and owns the timer only if it also finds the entry armed. Otherwise the owner
 * sees the bit before the next call. So `over` is called once.
 *
 * After `over` the pool may be gone. The first canceller therefore sets LOOKS together with CANCELLED and
 * clears it after it has left the pool's wheel. The owner calls `over` when LOOKS is clear.
 *
 * Edges    T2  call -> cancel, over   acq_rel   the calls' writes are readable by a thread that finds
 *                                               the timer over, and by the next call
 *          T3  release -> free        acq_rel   the last reference sees all uses
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "gate/callers.h"
#include "gate/submit.h"
#include "include/od_timer.h"
#include "os/clock.h"
#include "observe/trace.h"
#include "os/thread.h"
#include "pool/timer_thread.h"
#include "worker/due.h"
#include "worker/run.h"

enum { ARMED, QUEUED, RUNNING, OVER, WHERE = 3, CANCELLED = 4, LOOKS = 8 };

/* The number of forks from the first process to this one. */
static uint32_t forks_seen;

struct od_timer {
    odi_timer_entry entry; /* first member */
    odi_owned owned;       /* the queue's job */
    odi_entry_node node;   /* for the job, if the queue has no memory for it */
    odi_atomic(uint32_t) state;
    odi_atomic(uint32_t) references; /* the creator's, and the engine's until the timer is over */
    od_pool *pool;
    od_queue *queue; /* or NULL: `deliver` is called */
    uint32_t key;    /* the record's key in the queue */
    void (*deliver)(void *context, od_timer *timer);
    void (*call)(void *context, uint64_t missed);
    void (*over)(void *context);
    void *context;
    int64_t due, interval; /* the due time of the next or last call. Before the start it is the delay, */
    bool absolute;         /* unless this is set */
    bool reserve;          /* holds a reserved record for the queue */
    uint32_t forks_seen;   /* at creation: a canceller with LOOKS may be the parent's thread */
};

static od_timer *timer_of(odi_timer_entry *entry)
{
    return (od_timer *)entry;
}

static od_timer *timer_of_job(odi_owned *owned)
{
    return (od_timer *)((char *)owned - offsetof(od_timer, owned));
}

/* ---- the end of a timer ---- */

void od_timer_release(od_timer *timer)
{
    if (odi_add_acqrel(&timer->references, (uint32_t)-1, T3) > 1)
        return;
    if (timer->reserve)
        odi_records_unreserve();
    free(timer);
}

/* Ended by the canceller, which takes one lock and calls no user code. */
ODI_COLD static void await_canceller(od_timer *timer)
{
    for (int round = 0; timer->forks_seen == forks_seen && odi_load_acquire(&timer->state, T2) & LOOKS; round++)
        odi_thread_give_way(round);
}

/* Ends the timer; the owner no longer owns it. */
static void end(od_timer *timer, uint32_t cancelled)
{
    if (ODI_UNLIKELY(odi_or_acqrel(&timer->state, OVER | cancelled, T2) & LOOKS))
        await_canceller(timer);
    if (timer->over != NULL)
        timer->over(timer->context);
    od_timer_release(timer);
}

/* Moves the timer to another state. Returns false if it is cancelled; it is then over. Owner only. */
static bool move(od_timer *timer, uint32_t from, uint32_t to)
{
    uint32_t state = from;

    if (ODI_LIKELY(odi_cas_acqrel(&timer->state, &state, to, T2)))
        return true;
    odi_invariant((state & ~(uint32_t)LOOKS) == (from | CANCELLED));
    end(timer, CANCELLED);
    return false;
}

/* ---- a due timer ---- */

/* Runs the timer's job on the timer thread, because the pool is late. Returns false if the queue does not admit the
 * job at once. The permit keeps the queue alive after the job; the pool lives because its timer thread does. */
ODI_COLD static bool run_here(od_timer *timer)
{
    od_queue *queue = timer->queue;
    od_pool *pool = timer->pool;
    odi_entry job = odi_job_owned(&timer->owned);
    odi_record *record = odi_queue_find_record(queue, NULL, timer->key, &timer->reserve);
    od_scope scope;

    if (record == NULL || !odi_queue_try_enter(queue, (timer->key & ODI_KEY_BARRIER) != 0, &scope))
        return false;
    bool counted = odi_queue_count(record, queue, NULL, timer->key, 1);

    if (counted) {
        odi_timer_thread_begin_call(pool, queue);
        if (odi_traces())
            odi_trace(ODI_TRACE_SUBMIT, timer->key & ODI_KEY_BAND, queue, odi_job_identity(job));
        (void)odi_run_outside_of(record, job);
    }
    od_queue_sync_end(&scope);
    if (counted)
        odi_timer_thread_end_call(pool);
    return counted;
}

static void due(odi_timer_entry *entry)
{
    od_timer *timer = timer_of(entry);

    if (!move(timer, ARMED, QUEUED))
        return;
    if (timer->queue == NULL)
        timer->deliver(timer->context, timer);
    else if (!odi_timer_thread_is_here(timer->pool) || !run_here(timer))
        odi_queue_submit_node(timer->queue, timer->key, odi_job_owned(&timer->owned), &timer->node,
                              &timer->reserve);
}

static void dropped(odi_timer_entry *entry)
{
    end(timer_of(entry), CANCELLED);
}

static const odi_timer_entry_kind timer_kind = {due, dropped};

/* Arms the entry; the caller owns the timer until then. */
static void arm(od_timer *timer, int64_t now)
{
    if (!odi_team_arm(&timer->pool->team, &timer->entry, timer->due, now))
        end(timer, CANCELLED);
}

/* Returns the number of intervals between the last due call and now. */
static uint64_t intervals_missed(const od_timer *timer)
{
    int64_t late = timer->interval > 0 ? odi_clock_now() - timer->due : 0;

    return late > 0 ? (uint64_t)late / (uint64_t)timer->interval : 0;
}

static void arm_next(od_timer *timer)
{
    if (ODI_UNLIKELY(timer->queue != NULL && !timer->reserve))
        timer->reserve = odi_records_reserve();
    timer->due = timer->interval < ODI_FOREVER - timer->due ? timer->due + timer->interval
                                                            : ODI_FOREVER;
    arm(timer, odi_clock_now());
}

/* ---- the call ---- */

/* Returns false if the timer was cancelled while it waited. */
static bool begin_call(od_timer *timer)
{
    uint32_t queued = QUEUED;

    /* relaxed: the queue has handed the timer over, and a thread that finds it running reads none of its data */
    return odi_cas_relaxed(&timer->state, &queued, RUNNING);
}

static void call(odi_owned *owned)
{
    od_timer *timer = timer_of_job(owned);

    if (!begin_call(timer))
        return; /* after_call ends the timer */
    uint64_t missed = intervals_missed(timer);

    timer->due += (int64_t)missed * timer->interval;
    timer->call(timer->context, missed);
}

/* Called after the job has run or was discarded. */
static void after_call(odi_owned *owned)
{
    od_timer *timer = timer_of_job(owned);
    uint32_t state = odi_load_relaxed(&timer->state); /* relaxed: only its owner changes it now */
    bool ran = (state & WHERE) == RUNNING;

    if (timer->interval == 0)
        end(timer, ran ? 0 : CANCELLED);
    else if (move(timer, state & WHERE, ARMED))
        arm_next(timer);
}

static const odi_owned_kind job_kind = {call, after_call};

void od_timer_perform(od_timer *timer)
{
    call(&timer->owned);
    after_call(&timer->owned);
}

/* ---- cancelling ---- */

od_timer_cancelled od_timer_cancel(od_timer *timer)
{
    uint32_t state = odi_load_acquire(&timer->state, T2);

    do {
        if ((state & WHERE) == OVER) /* its pool may be gone */
            return OD_TIMER_WAS_OVER;
        if (state & CANCELLED) /* another thread is cancelling, or has cancelled */
            return (state & WHERE) == RUNNING ? OD_TIMER_RUNS : OD_TIMER_WAS_OVER;
    } while (!odi_cas_acqrel_acquire(&timer->state, &state, state | CANCELLED | LOOKS, T2));
    bool armed = odi_timer_queue_cancel(&timer->pool->team.timers, &timer->entry);
    (void)odi_and_acqrel(&timer->state, ~(uint32_t)LOOKS, T2);
    if (armed)
        end(timer, CANCELLED);
    return (state & WHERE) == RUNNING ? OD_TIMER_RUNS : OD_TIMER_PREVENTED;
}

bool od_timer_is_cancelled(od_timer *timer)
{
    return odi_load_acquire(&timer->state, T2) & CANCELLED;
}

/* ---- creation ---- */

static od_timer *create(od_pool *pool, od_queue *queue, uint32_t key,
                        const od_timer_options *options, void (*deliver)(void *context, od_timer *timer))
{
    if (ODI_UNLIKELY(options->interval_ns < 0))
        odi_trap("od_timer_create: negative interval (%lld ns). Choose more than 0, or 0 for one call.",
                 (long long)options->interval_ns);
    od_status status = odi_pool_admit(pool);
    od_timer *timer = status == OD_NO_MEMORY || status == OD_NO_THREAD ? NULL : malloc(sizeof *timer);

    if (timer == NULL)
        return NULL;
    bool reserve = queue != NULL && odi_records_reserve();
    if (queue != NULL && !reserve) {
        free(timer);
        return NULL;
    }
    *timer = (od_timer){
        .entry = {.kind = &timer_kind, .site = odi_team_timer_site(&pool->team, queue == NULL)},
        .owned = {.kind = &job_kind},
        .pool = pool,
        .queue = queue,
        .key = key,
        .deliver = deliver,
        .call = options->call,
        .over = options->over,
        .context = options->context,
        .due = options->due_ns != 0 ? options->due_ns : options->delay_ns,
        .absolute = options->due_ns != 0,
        .reserve = reserve,
        .interval = options->interval_ns,
        .forks_seen = forks_seen,
    };
    odi_store_relaxed(&timer->state, ARMED); /* relaxed, both: no other thread knows it yet */
    odi_store_relaxed(&timer->references, 2);
    return timer;
}

void od_timer_start(od_timer *timer)
{
    int64_t now = odi_clock_now(), base = timer->absolute ? 0 : now;

    if (timer->due < 0)
        timer->due = 0;
    timer->due = timer->due < ODI_FOREVER - base ? base + timer->due : ODI_FOREVER;
    arm(timer, now);
}

int64_t od_timer_now(void)
{
    return odi_clock_now();
}

od_timer *od_timer_create(od_queue *queue, const od_timer_options *options)
{
    return create(queue->pool, queue, queue->band, options, NULL);
}

od_timer *od_timer_create_with(od_queue *queue, int32_t band, uint32_t flags,
                               const od_timer_options *options)
{
    return create(queue->pool, queue, odi_queue_key(queue, band, flags), options, NULL);
}

od_timer *od_timer_create_elsewhere(od_pool *pool, const od_timer_options *options,
                                    void (*deliver)(void *context, od_timer *timer))
{
    return create(pool, NULL, 0, options, deliver);
}

static void forked(void)
{
    forks_seen++;
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, forked);
}

uint64_t od_pool_timers_armed(od_pool *pool)
{
    return odi_timer_queue_count(&pool->team.timers);
}
