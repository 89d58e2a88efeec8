/* wait.c — waits of a thread until the jobs of a group or a queue have ended.
 *
 * A waiting thread runs only jobs of the set that it waits for. A worker that waits without a deadline first
 * takes jobs of the set from both ends of its own deques. These jobs must end before the wait on any thread,
 * and recursion then needs no thread per level. Afterwards the worker sleeps until the set is empty, like any
 * other thread, and a spare may replace it. With a deadline it takes no job, because the job may last longer.
 *
 * A job run in this manner is unrelated to the job below it on the stack. It is in none of that job's queues
 * and holds none of its permits (`odi_set_apart`).
 *
 * A wait ends when a thread finds the set empty (job/watch.h), or at its deadline.
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

/* A waiter that overrides a band checks after this time for new jobs of the set, then after twice that time,
 * and so on. */
#define OVERRIDE_AGAIN_NS (20 * ODI_MILLISECOND)

/* A spin before the sleep pays, because waits of a few microseconds are common while workers are awake. A
 * thread that has just woken a worker does not spin, because the worker may need this CPU. A wake-up across
 * CPUs takes ten times as long. */
enum { WAIT_SPINS = 600 };

/* The set of records that a thread waits for, with further facts. */
typedef struct {
    odi_set set;
    struct odi_group *group; /* the set is this group's jobs; NULL: the queue's jobs */
    od_queue *queue; /* its jobs are in the set, or the set waits for them; may be NULL */
    uint32_t band;   /* the band of these jobs */
    const od_awaited_work *work; /* the end of this work empties the group; or NULL */
    const char *what; /* the kind of wait, for reports */
} odi_awaited;

/* ---- jobs in the worker's deques ---- */

/* Whether a drain request of the queue belongs to its set. In a serial queue the entries before the queue's
 * own jobs must end first. In other queues a child queue's entry is unrelated. */
static bool has_own_alone(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool own = queue->children == 0 || queue->gate.width == 1;
    odi_lock_release(&queue->watch.lock);
    return own;
}

/* Whether a deque's entry belongs to the set. Hints only, because the entry is inspected before it is taken. */
static bool is_awaited(odi_entry entry, const void *raw)
{
    const odi_awaited *set = raw;
    odi_record *record;

    if (odi_job_tag(entry) == ODI_TAG_WRAPPED)
        return false; /* another thread may take the job and free the wrapper */
    record = odi_record_of_job(entry);
    if (set->group != NULL) /* relaxed, both: hints; while the job is queued it keeps its record's fields */
        return record != NULL && odi_load_relaxed(&record->group) == set->group;
    if (odi_is_pass(entry))
        return odi_queue_of_pass((void *)(uintptr_t)entry.context) == set->queue && has_own_alone(set->queue);
    return record != NULL && odi_load_relaxed(&record->queue) == set->queue;
}

static void run_apart(odi_worker *worker, const odi_awaited *set, const odi_watch_waiter *waiter,
                      odi_entry job)
{
    odi_set_apart here = {odi_scopes, odi_around_here(), od_thread_work(), set->set.watch, waiter, odi_apart};
    void *route = od_thread_route(), *bounce = od_thread_bounce();
    odi_record *record = odi_record_of_job(job);
    odi_outside *outsides = odi_outsides;
    odi_descent nothing = {.outer = odi_descended};
    odi_around around = {.record = record};
    /* relaxed: a hint, as when a worker begins a job */
    uint32_t flags = record != NULL ? odi_load_relaxed(&record->flags) : 0;

    if (flags & ODI_RECORD_DIVERTED) { /* the queue was suspended or got a barrier in between */
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
    bool noted = odi_forks_note_around(&around); /* for its forks, which lie above those of the job below */
    (void)odi_run_outside(worker->team, job);
    if (noted && odi_worker_self == worker)
        odi_forks_strike();
    odi_descended = nothing.outer;
    od_thread_set_bounce(bounce);
    od_thread_set_route(route);
    od_thread_set_work(here.work);
    odi_outsides = outsides;
    odi_scopes = here.scopes;
    odi_apart = here.outer;
}

/* Runs one job of the set from the ends of the worker's deques. Returns false if there is none, or if the
 * pool has passed its stop's deadline. The stop has then taken the jobs, except one that the worker held at
 * that moment. */
static bool run_one(odi_worker *worker, const odi_awaited *set, const odi_watch_waiter *waiter)
{
    odi_entry job;

    /* relaxed: behind the publication's fence (S4): the stop sees the returned jobs, or this thread sees the
     * stop */
    if (odi_load_relaxed(&worker->team->attention) & ODI_CANCELLING) {
        odi_worker_discard_own(worker);
        return false;
    }
    uint32_t bands = odi_load_relaxed(&worker->bands); /* relaxed: owner-only word */
    for (; bands != 0; bands &= bands - 1) {
        odi_deque *deque = &worker->deques[__builtin_ctz(bands)];

        if (!odi_deque_take_wanted(deque, is_awaited, set, &job))
            continue;
        if (odi_deque_size(deque) > 0) /* other threads may have missed the rest at that moment */
            odi_team_publish(worker->team, worker->site);
        run_apart(worker, set, waiter, job);
        return true;
    }
    return false;
}

/* ---- sleeping ---- */

/* An override reads at most this many records, because it is a hint. */
enum { RECORDS_LOOKED_AT = 64 };

/* Overrides the bands of the records' jobs. Under the set's lock the records keep their queues, whose pools
 * therefore exist. */
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

/* Serves lower bands as the waiter's band until odi_override_end, for current and later jobs. Returns false
 * if no band needs an override. */
static bool override_set(const odi_awaited *set, odi_override *override)
{
    od_queue *queue = set->queue;
    bool diverted = queue != NULL && odi_load_relaxed(&queue->inbox.diverted); /* relaxed: a hint */

    if (override->band == OD_BAND_BACKGROUND)
        return false;
    if (diverted)
        odi_queue_raise_all(queue, override->band);
    if (diverted && set->set.watch == &queue->watch)
        return true; /* the wait queue holds the whole set, and jobs of other queues do not matter */
    if (queue != NULL && !diverted)
        odi_override_begin(override, &queue->pool->team, set->band);
    override_records(override, set->set.watch, set->set.first, set->set.next);
    return diverted || override->bands != 0;
}

/* A wait that lasts is listed once: the last wait of a cycle finds the cycle. A thread without work is in no
 * cycle. */
typedef struct {
    odi_cycle_wait wait;
    int64_t look_ns;
    bool listed;
} listing;

static bool sleep_listed(const odi_awaited *set, odi_watch_waiter *waiter, listing *mine, int64_t until)
{
    if (!mine->listed && odi_cycle_may_hold() && mine->look_ns < until) {
        if (odi_watch_sleep(waiter, mine->look_ns))
            return true;
        mine->listed = true;
        odi_cycle_enter(&mine->wait, set->group, set->queue, set->work);
    }
    return odi_watch_sleep(waiter, until);
}

static bool sleep_until_released(const odi_awaited *set, odi_watch_waiter *waiter, int64_t deadline)
{
    odi_override override = {.band = odi_band_of_thread()};
    bool empty = false, overrides = override_set(set, &override);
    listing mine = {.look_ns = odi_clock_after(ODI_CYCLE_LOOK_AFTER_NS)};

    /* A thread that replaces this worker or external thread then finds the override in effect. */
    odi_blocking_begin(set->what, set->group != NULL ? NULL : set->queue);
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
        return odi_watch_is_empty(&set->set); /* only a check: no thread has to replace this worker */
    if (odi_watch_begin(&set->set, &waiter))
        return true;
    while (worker != NULL && deadline_ns == INT64_MAX && !odi_watch_is_met(&set->set, &waiter) &&
           run_one(worker, set, &waiter)) {
        if (odi_worker_self != worker) /* in a forked child: queued jobs and this waiter belong to the parent */
            return await(set, deadline_ns);
    }
    /* If the job that it ran was the set's last, no thread has to replace this worker. */
    return odi_watch_is_released(&waiter) || sleep_until_released(set, &waiter, odi_clock_after(deadline_ns));
}

/* ---- queues ---- */

static odi_awaited of_queue(od_queue *queue)
{
    return (odi_awaited){odi_queue_set(queue), NULL, queue, queue->band, NULL, "for the end of"};
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
        /* relaxed: the group's own record has no team; the pool of any other record with jobs exists */
        pending += odi_record_pending(odi_load_relaxed(&record->team), record);
    odi_lock_release(&group->watch.lock);
    return pending;
}

/* Whether the wait is likely to be short. This holds if a worker was awake at this thread's last submission
 * and does not need this thread's CPU. */
static bool may_be_short(od_group *group)
{
    bool woke = odi_woke_a_sleeper, may = false;

    odi_woke_a_sleeper = false;
    if (woke)
        return false;
    /* Under the lock the record keeps its queue, whose pool therefore exists. */
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

static bool wait_for(od_group *group, od_queue *queue, int32_t band, const od_awaited_work *work, int64_t deadline_ns,
                     const char *what)
{
    odi_awaited jobs = {odi_group_set(group), group, queue, 0, work, what};

    if (queue != NULL)
        jobs.band = band >= 0 && (uint32_t)band < queue->band ? (uint32_t)band : queue->band;
    return await(&jobs, deadline_ns);
}

bool od_group_wait_for_work(od_group *group, od_queue *queue, int32_t band, const od_awaited_work *work,
                            int64_t deadline_ns)
{
    return wait_for(group, queue, band, work, deadline_ns, "for a task");
}

bool od_group_wait_as(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns, const char *what)
{
    return wait_for(group, queue, band, NULL, deadline_ns, what);
}

bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns)
{
    return wait_for(group, queue, band, NULL, deadline_ns, "for a group");
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
