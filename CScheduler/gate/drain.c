/* drain.c — drainers: workers that take and run the jobs of a wait queue. Sync callers are in callers.c. */
#include "gate/current.h"
#include "gate/earmark.h"
#include "gate/limit.h"
#include "gate/pass.h"
#include "gate/settle.h"
#include "gate/submit.h"
#include "gate/target.h"
#include "include/od_loop.h"
#include "worker/find.h"
#include "worker/run.h"
#include "worker/worker.h"

/* A drainer requeues itself after this many jobs if the pool has other work. If another band may have work, it
 * requeues after one job. Each job then counts towards the limit for passing over a band. */
enum { JOBS_PER_SLICE = 64 };

enum { LINGER_LOOKS = 8, PAUSES_PER_LOOK = 32, WORTH_TAKING = 512 };

/* After a linger that brought fewer jobs than WORTH_LINGERING, the drainer skips this many lingers, because
 * jobs arrive one at a time. */
enum { WORTH_LINGERING = 4, NOT_LINGERING = 64 };

/* Takes the next entry for a drainer, first for the earmarked permits. Lock held. */
static bool take_next(od_queue *queue, odi_entry *entry)
{
    if (ODI_UNLIKELY(queue->gate.earmarks > 0) && odi_earmark_pop(queue, entry))
        return true;
    return odi_queue_take(queue, entry, false);
}

/* The next step of a drainer that holds a permit. */
typedef struct {
    odi_taken taken;           /* none: the permit was returned or passed on */
    bool barrier;              /* the job or sync caller is a barrier */
    odi_entry granted;         /* a sync caller that now has the permit */
    odi_settlement settlement; /* consequences of a returned permit */
} step;

/* Takes the next step. Returns the permit if no entry may be taken or too many permits are held. `drainer`:
 * NULL if it takes one job only. Lock held. */
static step take(od_queue *queue, const od_scope *drainer)
{
    step next = {0};
    odi_entry entry;

    if (!take_next(queue, &entry)) {
        odi_gate_leave(&queue->gate);
        next.settlement = odi_queue_settle(queue);
        return next;
    }
    next.barrier = queue->gate.exclusive;
    if (odi_is_wait_node(entry))
        next.granted = entry;
    else {
        next.taken.first = entry;
        if (drainer != NULL)
            odi_queue_fill_batch(queue, &next.taken, drainer);
    }
    return next;
}

/* Whether the calling thread is a worker of the queue's pool. */
static bool on_worker(const od_queue *queue)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && worker->team == &queue->pool->team;
}

/* Whether the calling thread is a worker of the pool and between two jobs. */
static bool on_free_worker(const od_queue *queue)
{
    return on_worker(queue) && !(odi_worker_activity(odi_worker_self) & 1);
}

static void run_one(od_queue *queue, odi_entry job)
{
    if (odi_discarding || (on_worker(queue) && odi_queue_is_past_deadline(queue)))
        odi_run_discard(&queue->pool->team, job); /* a stop came too early to count it */
    else if (on_free_worker(queue))
        odi_worker_run(odi_worker_self, job, ODI_RECORD_CANCELLED);
    else
        (void)odi_run_outside(&queue->pool->team, job);
}

/* Jobs that drainers of child queues ran on this thread. They count for the target's drainer, whose time
 * slice would otherwise be as many jobs per job. */
static _Thread_local size_t run_beyond;

/* Whether work elsewhere waits for this worker, checked between two jobs. A drainer with an unlimited slice
 * (`most`) does not yield to it. */
static bool is_wanted_far(const od_queue *queue, size_t most)
{
    return most != SIZE_MAX && on_free_worker(queue) && odi_worker_is_wanted_far(odi_worker_self, queue->band);
}

/* Runs the taken jobs, or as many as the time allows. Returns their number. */
static size_t run_taken(od_queue *queue, const odi_taken *taken, size_t most)
{
    odi_entry job;
    size_t count = 1;

    run_beyond = 0;
    run_one(queue, taken->first);
    if (taken->batch != NULL) {
        for (; !is_wanted_far(queue, most) && odi_drain_batch_claim(taken->batch, &queue->watch.lock, &job); count++)
            run_one(queue, job);
    }
    return count + run_beyond;
}

/* Whether this worker has other work than its drainer. A hint. */
static bool others_wait(od_queue *queue)
{
    odi_worker *worker = odi_worker_self;
    uint32_t band = queue->band;

    /* relaxed, both: hints. Overdue timers fire between two jobs of the worker, and a drainer's jobs do not
     * count. */
    return odi_load_relaxed(&worker->team->attention) & (ODI_SURPLUS | ODI_STOPPING) ||
           odi_load_relaxed(&worker->team->timers.overdue) ||
           odi_worker_other_bands(worker, band) || odi_deque_size(&worker->deques[band]) > 0 ||
           odi_injector_size(&worker->site->injectors[band]) > 0;
}

/* Spins for a moment on an empty wait queue, if this worker has no other work. A submitter of many jobs would
 * otherwise find the queue idle each time and call a drainer for each job. Single takes also cost both
 * threads a cache-line transfer. Ended by the count of checks. Returns whether lingering paid. */
static bool linger(od_queue *queue)
{
    odi_worker *worker = odi_worker_self;
    uint32_t before = odi_load_relaxed(&queue->inbox.waiting); /* relaxed, all: hints */

    if (before >= WORTH_TAKING || !odi_load_relaxed(&worker->team->may_spin) ||
        others_wait(queue))
        return true;
    for (int looks = 0; odi_spins_on(looks < LINGER_LOOKS); looks++) {
        for (int i = 0; i < PAUSES_PER_LOOK; i++)
            odi_spin_pause();
        uint32_t now = odi_load_relaxed(&queue->inbox.waiting); /* relaxed: a hint */
        if (now >= WORTH_TAKING || (now > 0 && now == before))
            return now >= WORTH_LINGERING;
        before = now;
    }
    return before >= WORTH_LINGERING;
}

/* Returns the number of jobs that this drainer may run before it requeues. */
static size_t jobs_per_slice(od_queue *queue, uint32_t band)
{
    odi_worker *worker = odi_worker_self;

    /* A waiting thread checks after each job whether its wait has ended; later jobs are unrelated. */
    if (ODI_UNLIKELY(odi_apart != NULL) && on_worker(queue) && !odi_queue_is_past_deadline(queue))
        return 1;
    /* On another thread no drainer would replace this one, and after a stop none would be called. */
    if (!on_free_worker(queue) || odi_queue_is_past_deadline(queue))
        return SIZE_MAX;
    return odi_worker_other_bands(worker, band) ? 1 : JOBS_PER_SLICE;
}

/* Whether a drainer that has begun has no consequences, because no other drainer may begin. Lock held. */
static bool is_full(const od_queue *queue)
{
    return queue->gate.held >= odi_gate_permits(&queue->gate) && queue->gate.earmarks == 0 &&
           !odi_limit_is_awaited(queue) && queue->raised == 0 && queue->drainers_waiting == 0;
}

/* A drainer at work. It holds a permit from odi_queue_settle until take returns it. The request's band is the
 * band in which it waited. */
typedef struct {
    od_queue *queue, *target; /* the target, whose permit this drainer uses */
    odi_pass pass;
    od_scope scope;
    step next;
    size_t done, most;         /* jobs run and allowed in its time slice */
    uint64_t ticks;            /* duration of the last take of a wide queue; UINT64_MAX: unknown */
    bool up;                   /* its request was needed, so it is a drainer */
    bool follow;               /* other drainers may wait for the next request */
    bool wide, seems_empty, held_up, over;
} drainer;

static bool has_job(const drainer *it)
{
    return it->next.taken.first.code != 0;
}

/* Takes the next step with the targets locked (see odi_target_lock). Lock held. */
static void take_under_targets(drainer *it, bool begins)
{
    od_queue *queue = it->queue;

    it->held_up = (ODI_UNLIKELY(it->target != NULL) && !odi_target_lock(queue)) || odi_wait_is_over(queue);
    if (ODI_LIKELY(!it->held_up))
        it->next = take(queue, it->most > 1 && it->target == NULL ? &it->scope : NULL);
    else
        it->next = (step){0};
    if (ODI_UNLIKELY(it->target != NULL))
        odi_target_unlock(queue);
    if ((begins || (ODI_UNLIKELY(it->follow) && queue->drainers_waiting > 0)) && !is_full(queue) &&
        (it->held_up || has_job(it) || it->next.granted.code != 0))
        it->next.settlement = odi_queue_settle(queue); /* another drainer may come */
    it->follow = false;
    it->over = queue->released;
    it->seems_empty = queue->gate.width == 1 && queue->line.count + queue->early.count == 0;
    if (it->seems_empty && queue->spin_backoff > 0) {
        queue->spin_backoff--;
        it->seems_empty = false;
    }
}

/* Takes the drainer's next step under the queue's lock. Returns false if no drainer waited for its request. */
static bool look(drainer *it)
{
    od_queue *queue = it->queue;
    bool begins = false;
    int lingers = -1; /* number of lingers to skip from now on; negative: it did not linger */

    it->most = jobs_per_slice(queue, it->pass.band);
    /* relaxed, plain: hints; this drainer has just emptied the wait queue */
    if (it->done > 0 && it->most == JOBS_PER_SLICE && it->seems_empty && it->target == NULL)
        lingers = linger(queue) ? 0 : NOT_LINGERING;
    odi_lock_acquire(&queue->watch.lock);
    if (lingers >= 0)
        queue->spin_backoff = (uint8_t)lingers;
    odi_queue_put_down(queue, &it->next.taken);
    if (it->wide && it->ticks != UINT64_MAX)
        odi_queue_measure(queue, it->ticks);
    it->wide = queue->gate.width != 1;
    if (!it->up)
        it->up = odi_queue_begin_drainer(queue, it->pass, &begins, it->most != SIZE_MAX ? &it->next.settlement : NULL);
    if (it->up)
        take_under_targets(it, begins);
    else
        it->over = queue->released;
    odi_lock_release(&queue->watch.lock);
    return it->up;
}

static void run_what_it_took(drainer *it)
{
    od_queue *queue = it->queue;

    it->scope.exclusive = it->next.barrier;
    if (it->held_up || has_job(it))
        odi_queue_carry_out(queue, it->next.settlement);
    if (!has_job(it))
        return;
    uint64_t began = it->wide ? od_loop_ticks() : 0;
    it->done += run_taken(queue, &it->next.taken, it->most);
    it->ticks = began != 0 ? od_loop_ticks() - began : UINT64_MAX;
    if (ODI_UNLIKELY(it->next.barrier))
        odi_queue_end_barrier(queue);
}

static void serve_line(od_queue *queue, odi_pass pass)
{
    od_queue *target = odi_target_gate(queue);
    drainer it = {.queue = queue, .target = target, .pass = pass,
                  .scope = {.queue = queue, .outer = odi_scopes, .beyond = target, .holds_place = true, .drains = true},
                  .ticks = UINT64_MAX, .follow = pass.of_node || target != NULL};

    odi_scopes = &it.scope;
    while (look(&it)) {
        run_what_it_took(&it);
        if (!has_job(&it) || (ODI_UNLIKELY(target != NULL) && odi_target_wants_back(queue)))
            break;
        if (is_wanted_far(queue, it.most) ||
            (it.done >= it.most && (it.most != JOBS_PER_SLICE || others_wait(queue))))
            break;
        it.done = it.done < it.most ? it.done : 0;
    }
    odi_scopes = it.scope.outer;
    run_beyond = target != NULL ? it.done : 0;

    if (it.next.granted.code != 0) {
        odi_queue_carry_out(queue, it.next.settlement); /* while the caller's permit is held */
        odi_wait_node_grant(odi_wait_node_of(it.next.granted)); /* passes the permit to the sync caller */
    } else if (it.held_up || has_job(&it)) {
        odi_queue_requeue_drainer(queue, &it.next.taken); /* its time slice has ended, or a target stops it */
    } else {
        odi_queue_carry_out(queue, it.next.settlement);
        if (it.over)
            odi_queue_reap(queue);
    }
}

void odi_queue_drain(void *pass)
{
    uintptr_t word = (uintptr_t)pass;

    serve_line(odi_queue_of_pass(pass), (odi_pass){(uint32_t)(word & ODI_PASS_BAND), (word & ODI_PASS_OF_NODE) != 0});
}
