/* wait.c — what a thread does that waits for jobs to end: a group's, a queue's.
 *
 * It runs nothing but what it waits for. A worker that waits without a deadline first takes what is
 * at either end of its own deques and belongs to the set: that has to end before the wait does,
 * wherever it runs, and recursion needs no thread for each level. Then, like everybody else, it gives
 * its place over and sleeps until the set is empty. With a deadline it takes nothing, because what it
 * takes may last longer.
 *
 * A job that is run like this knows nothing of the one below: it is on no queue that that one is
 * on, and holds none of its places (`odi_set_apart`).
 *
 * How a wait ends: by who finds the set's next empty moment (job/watch.h), or its deadline.
 */
#include "gate/current.h"
#include "gate/cycle.h"
#include "gate/pass.h"
#include "gate/settle.h"
#include "job/group.h"
#include "job/label.h"
#include "os/clock.h"
#include "sleep/idle.h"
#include "worker/override.h"
#include "worker/recruit.h"
#include "worker/worker.h"

/* Who overrides looks again after this whether more has joined the set; each time after twice as long. */
#define OVERRIDE_AGAIN_NS (20 * ODI_MILLISECOND)

/* Waits of a few microseconds are common while workers are awake: worth waiting awake for.
 * But not after waking one, because it may need this very CPU: across CPUs a wake takes ten
 * times as long. */
enum { WAIT_SPINS = 600 };

/* What is waited for: a set of records, and what is known beside. */
typedef struct {
    odi_set set;
    struct odi_group *group; /* it is this one's jobs; NULL: the queue's */
    od_queue *queue; /* jobs of this one are among it, or are waited for by it; may be NULL */
    uint32_t band;   /* they are in this one */
} odi_awaited;

/* ---- what is at hand ---- */

/* In a serial queue's line what is before the queue's own jobs has to end first; in others that is
 * a stranger's, where it is of a queue on this one. */
static bool has_own_alone(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool own = queue->children == 0 || queue->gate.width == 1;
    odi_lock_release(&queue->watch.lock);
    return own;
}

/* Hints: whose job it is that lies in a deque is asked before it is taken. */
static bool is_awaited(odi_entry entry, const void *raw)
{
    const odi_awaited *set = raw;
    odi_record *record;

    if (odi_job_tag(entry) == ODI_TAG_WRAPPED)
        return false; /* who takes it meanwhile frees what says whose it is */
    record = odi_record_of_job(entry);
    if (set->group != NULL) /* relaxed, both: the job, while it lies there, keeps its record's */
        return record != NULL && odi_load_relaxed(&record->group) == set->group;
    if (odi_is_pass(entry))
        return odi_queue_of_pass((void *)(uintptr_t)entry.context) == set->queue && has_own_alone(set->queue);
    return record != NULL && odi_load_relaxed(&record->queue) == set->queue;
}

static void run_apart(odi_worker *worker, const odi_awaited *set, const odi_watch_waiter *waiter,
                      odi_entry job)
{
    odi_set_apart here = {odi_scopes, set->set.watch, waiter, odi_apart};
    void *work = od_thread_work(), *route = od_thread_route(), *bounce = od_thread_bounce();
    odi_record *record = odi_record_of_job(job);
    odi_outside *outsides = odi_outsides;
    const odi_descent *descended = odi_descended, nothing = {0};
    odi_around around = {.record = record};
    /* relaxed: a hint, as it is where a worker begins a job */
    uint32_t flags = record != NULL ? odi_load_relaxed(&record->flags) : 0;

    if (flags & ODI_RECORD_DIVERTED) { /* suspended meanwhile, or a barrier came */
        (void)odi_record_unlabel(&job);
        record->owner->divert(record, job);
        return;
    }
    odi_apart = &here;
    odi_scopes = NULL;
    odi_outsides = NULL;
    od_thread_set_work(NULL);
    od_thread_set_route(NULL);
    od_thread_set_bounce(NULL);
    odi_descended = &nothing;
    bool noted = odi_forks_note_around(&around); /* its branches, which lie above those of the job below */
    (void)odi_run_outside(worker->team, job);
    if (noted && odi_worker_self == worker)
        odi_forks_strike();
    odi_descended = descended;
    od_thread_set_bounce(bounce);
    od_thread_set_route(route);
    od_thread_set_work(work);
    odi_outsides = outsides;
    odi_scopes = here.scopes;
    odi_apart = here.outer;
}

/* False: nothing at the ends of the worker's deques is of the set, or the pool is past its stop's
 * deadline and begins no more: then the stop has taken what lies there, but for what it could not see
 * while the worker took one. */
static bool run_one(odi_worker *worker, const odi_awaited *set, const odi_watch_waiter *waiter)
{
    odi_entry job;

    /* relaxed: behind the publication's fence (S4): the stop sees what was put back, or this the stop */
    if (odi_load_relaxed(&worker->team->attention) & ODI_CANCELLING) {
        odi_worker_discard_own(worker);
        return false;
    }
    uint32_t bands = odi_load_relaxed(&worker->bands); /* relaxed: the worker's own word */
    for (; bands != 0; bands &= bands - 1) {
        odi_deque *deque = &worker->deques[__builtin_ctz(bands)];

        if (!odi_deque_take_wanted(deque, is_awaited, set, &job))
            continue;
        if (odi_deque_size(deque) > 0) /* who looked at that moment may have missed it */
            odi_team_publish(worker->team, worker->site);
        run_apart(worker, set, waiter, job);
        return true;
    }
    return false;
}

/* ---- asleep ---- */

/* A hint may do with so many records. */
enum { RECORDS_LOOKED_AT = 64 };

/* Under the set's lock the records are their queues', and with that their pools are there. */
static void override_records(odi_override *override, odi_watch *watch, odi_record **first, odi_record_walk *next)
{
    int looked = 0;

    odi_lock_acquire(&watch->lock);
    for (odi_record *record = *first; record != NULL && looked++ < RECORDS_LOOKED_AT;
         record = next(record)) {
        /* relaxed, all: hints */
        od_queue *queue = odi_load_relaxed(&record->queue);

        if (queue == NULL || odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0)
            continue;
        bool diverted = odi_load_relaxed(&record->flags) & ODI_RECORD_DIVERTED;
        odi_override_begin(override, odi_load_relaxed(&record->team),
                           diverted ? queue->band : odi_record_band(record));
    }
    odi_lock_release(&watch->lock);
}

/* Has lower bands served as the waiter's until odi_override_end: what is there now, and what comes to these bands.
 * False: there is nothing to override. */
static bool override_set(const odi_awaited *set, odi_override *override)
{
    od_queue *queue = set->queue;
    bool diverted = queue != NULL && odi_load_relaxed(&queue->inbox.diverted); /* relaxed: a hint */

    if (override->band == OD_BAND_BACKGROUND)
        return false;
    if (diverted)
        odi_queue_raise_all(queue, override->band);
    if (diverted && set->set.watch == &queue->watch)
        return true; /* the line is all of it, and other queues' jobs are none of it */
    if (queue != NULL && !diverted)
        odi_override_begin(override, &queue->pool->team, set->band);
    override_records(override, set->set.watch, set->set.first, set->set.next);
    return diverted || override->bands != 0;
}

/* A wait that lasts is listed, once: the last one of a circle finds it. A thread that holds no place is in no circle. */
typedef struct {
    odi_cycle_wait wait;
    int64_t look_ns;
    bool listed;
} listing;

static bool sleep_listed(const odi_awaited *set, odi_watch_waiter *waiter, listing *mine, int64_t until)
{
    if (odi_scopes != NULL && !mine->listed && mine->look_ns < until) {
        if (odi_watch_sleep(waiter, mine->look_ns))
            return true;
        mine->listed = true;
        odi_cycle_enter(&mine->wait, set->group, set->queue);
    }
    return odi_watch_sleep(waiter, until);
}

static bool sleep_until_released(const odi_awaited *set, odi_watch_waiter *waiter, int64_t deadline)
{
    odi_override override = {.band = odi_band_of_thread()};
    bool empty = false, overrides = override_set(set, &override);
    listing mine = {.look_ns = odi_clock_after(ODI_CYCLE_LOOK_AFTER_NS)};

    /* Another thread runs in place of this worker or external thread, and finds the override set already. */
    odi_blocking_begin(set->group != NULL ? "for a group" : "for the end of",
                       set->group != NULL ? NULL : set->queue);
    for (int64_t again_ns = OVERRIDE_AGAIN_NS, again;
         overrides && !empty && (again = odi_clock_after(again_ns)) < deadline; again_ns += again_ns) {
        empty = sleep_listed(set, waiter, &mine, again);
        overrides = empty || override_set(set, &override);
    }
    empty = empty || sleep_listed(set, waiter, &mine, deadline) || odi_watch_end(&set->set, waiter);
    if (mine.listed)
        odi_cycle_leave(&mine.wait);
    odi_override_end(&override);
    od_blocking_end();
    return empty;
}

static bool await(const odi_awaited *set, int64_t deadline_ns)
{
    odi_worker *worker = odi_worker_self;
    odi_watch_waiter waiter;

    if (deadline_ns <= 0)
        return odi_watch_is_empty(&set->set); /* it only asks: nobody is to come in its place */
    if (odi_watch_begin(&set->set, &waiter))
        return true;
    while (worker != NULL && deadline_ns == INT64_MAX && !odi_watch_is_met(&set->set, &waiter) &&
           run_one(worker, set, &waiter)) {
        if (odi_worker_self != worker) /* a forked child: what was queued is its parent's, and so is this waiter */
            return await(set, deadline_ns);
    }
    /* Where what it ran was the last of it, nobody is to come in its place. */
    return odi_watch_is_released(&waiter) || sleep_until_released(set, &waiter, odi_clock_after(deadline_ns));
}

/* ---- queues ---- */

static odi_awaited of_queue(od_queue *queue)
{
    return (odi_awaited){odi_queue_set(queue), NULL, queue, queue->band};
}

bool od_queue_wait(od_queue *queue, int64_t deadline_ns)
{
    odi_awaited jobs = of_queue(queue);

    return await(&jobs, deadline_ns);
}

od_status od_queue_notify(od_queue *queue, void (*function)(void *), void *context)
{
    odi_set jobs = odi_queue_set(queue);

    return odi_watch_notify(&jobs, function, context) ? OD_OK : OD_NO_MEMORY;
}

/* ---- groups ---- */

uint64_t od_group_pending(od_group *group)
{
    uint64_t pending = 0;

    odi_lock_acquire(&group->watch.lock);
    for (odi_record *record = group->records; record != NULL; record = record->next_of_group)
        /* relaxed: the group's own is no team's; of another one with jobs the pool is there */
        pending += odi_record_pending(odi_load_relaxed(&record->team), record);
    odi_lock_release(&group->watch.lock);
    return pending;
}

/* Whether the wait is likely to be short: a worker was awake when this thread submitted, and
 * not waiting for the very CPU that waiting awake would take. */
static bool may_be_short(od_group *group)
{
    bool woke = odi_woke_a_sleeper, may = false;

    odi_woke_a_sleeper = false;
    if (woke)
        return false;
    /* Under the lock the record stays its queue's, and with that its pool is there. */
    odi_lock_acquire(&group->watch.lock);
    odi_record *last = odi_load_relaxed(&group->last); /* relaxed: written under the lock */
    if (last != NULL) {
        odi_team *team = odi_load_relaxed(&last->team); /* relaxed, all: hints */

        may = odi_load_relaxed(&team->may_spin) &&
              odi_load_relaxed(&team->sites[0].searcher_cpu) != od_thread_cpu();
    }
    odi_lock_release(&group->watch.lock);
    return may;
}

bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns)
{
    odi_awaited jobs = {odi_group_set(group), group, queue, 0};

    if (queue != NULL)
        jobs.band = band >= 0 && (uint32_t)band < queue->band ? (uint32_t)band : queue->band;
    return await(&jobs, deadline_ns);
}

bool od_group_wait(od_group *group, int64_t deadline_ns)
{
    if (odi_worker_self == NULL && deadline_ns > 0 && may_be_short(group)) {
        for (int spins = 0; odi_spins_on(spins < WAIT_SPINS && !odi_group_seems_empty(group)); spins++)
            odi_spin_pause();
    }
    return od_group_wait_for(group, NULL, OD_QUEUE_BAND, deadline_ns);
}

od_status od_group_notify(od_group *group, void (*function)(void *), void *context)
{
    odi_set jobs = odi_group_set(group);

    return odi_watch_notify(&jobs, function, context) ? OD_OK : OD_NO_MEMORY;
}
